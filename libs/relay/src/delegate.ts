import { type PeerReply, type PeerTask, peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs, type ErrorCode, type TaskResult } from '@hermes-fleet/protocol';
import { awaitAnswer } from './await-answer.ts';
import type { Delegated, DelegateOptions, Refused } from './delegate-options.ts';
import { isWaiting, type PeerAnswer, unansweredResult } from './dialogue.ts';
import { createLink, declined, type Link, neverArrived, peerError } from './link.ts';
import { hasResult, resultOf, resultOfMessage } from './remote-result.ts';
import type { Delegation } from './state.ts';

const SEND_TIMEOUT_MS = 10_000;
const ASK_TIMEOUT_MS = 5_000;
/** Three calls of this length fit into the time that a run has to end after its abort. */
const WITHDRAW_TIMEOUT_MS = 3_000;
const IDLE_TIMEOUT_MS = 45_000;
/** A peer that forgets a task again and again would begin its work again and again. */
const MAX_REPEATS = 1;
const PAUSE = { firstMs: 200, longestMs: 5_000 };

/**
 * One dispatch at one peer, until it has ended there: sent without blocking, followed by stream, asked for after a
 * drop, sent again byte for byte where an answer was lost; the peer's idempotency makes that the same task (design 1,
 * Who executes). What the peer asks is asked of the caller, and told to the peer, in the same way. Throws PEER_UNREACHABLE when the peer stays away too long, and the signal's reason.
 */
export async function delegate(o: DelegateOptions, delegation: Delegation): Promise<Delegated> {
  let link = createLink(o);
  let task: PeerTask | undefined;
  if (delegation.remoteTaskId === undefined) {
    const sent = await deliver(o, delegation, link, o.resumed);
    if (sent.kind === 'refused') return sent;
    if (sent.kind === 'message') return { kind: 'result', result: resultOfMessage(sent, o) };
    task = sent.task;
  }
  let from = task ?? delegation.remoteTaskId ?? '';
  const told = await o.dialogue.undelivered();
  if (told) from = await tell(o, delegation, link, idOf(from), told);
  let pending = o.dialogue.pending();
  for (;;) {
    const stands = pending ?? (await follow(o, delegation, link, from));
    pending = undefined;
    if (stands.terminal) return { kind: 'result', result: resultOf(stands, o) };
    const waited = await awaitAnswer(o, stands, (now) => isWaiting(now) && now.statusId === stands.statusId);
    link = createLink(o);
    if ('moved' in waited) from = waited.moved;
    else if (waited.answer) from = await tell(o, delegation, link, stands.id, waited.answer);
    else {
      const canceled = await withdraw(o, { ...delegation, remoteTaskId: stands.id });
      return { kind: 'result', result: unansweredResult(o, stands, canceled) };
    }
  }
}

const idOf = (task: PeerTask | string): string => (typeof task === 'string' ? task : task.id);

/**
 * Tells the peer its caller's answer, again and again until it has it: by the message's id it takes each answer once. A
 * peer whose task has ended, or which does not know it any more, is asked about it next.
 */
async function tell(
  o: DelegateOptions,
  delegation: Delegation,
  link: Link,
  taskId: string,
  { messageId, text }: PeerAnswer,
): Promise<PeerTask | string> {
  const { signal, traceparent } = o;
  const message = { messageId, text, contextId: delegation.contextId, taskId, blocking: false };
  for (;;) {
    try {
      const call = { timeoutMs: SEND_TIMEOUT_MS, signal, traceparent };
      const reply = await o.client.send(o.endpoint, message, call);
      link.contact();
      await o.dialogue.delivered();
      return reply.kind === 'task' ? reply.task : taskId;
    } catch (thrown) {
      const error = peerError(signal, thrown);
      if (!error.retryable) {
        if (!GONE.has(peerErrorCode(error))) {
          await withdraw(o, { ...delegation, remoteTaskId: taskId });
          throw error;
        }
        await o.dialogue.delivered();
        return taskId;
      }
      o.onRetry('answer');
      await link.lost(error);
    }
  }
}

/** What a peer says of an answer to a task that waits for none any more. */
const GONE: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode | undefined>([
  'UNSUPPORTED_OPERATION',
  'TASK_NOT_FOUND',
]);

/** Asks the peer to stop; what the task came to there, where that can still be learned. Bounded in time. */
export async function withdraw(
  o: Pick<
    DelegateOptions,
    'client' | 'endpoint' | 'traceparent' | 'taskId' | 'replySchema' | 'outputSchema' | 'log'
  >,
  delegation: Delegation,
): Promise<TaskResult | undefined> {
  const call = { timeoutMs: WITHDRAW_TIMEOUT_MS, traceparent: o.traceparent };
  try {
    let id = delegation.remoteTaskId;
    if (id === undefined) {
      const reply = await o.client.send(o.endpoint, message(delegation), call);
      if (reply.kind === 'message') return resultOfMessage(reply, o);
      id = reply.task.id;
    }
    const known = id;
    const task = await o.client
      .cancelTask(o.endpoint, known, call)
      .catch(() => o.client.getTask(o.endpoint, known, call));
    return task.terminal ? resultOf(task, o) : undefined;
  } catch (error) {
    o.log.warn({ peer: o.endpoint.name, err: error }, 'task at the peer could not be canceled');
    return undefined;
  }
}

type Sent = PeerReply | Refused;

async function deliver(
  o: DelegateOptions,
  delegation: Delegation,
  link: Link,
  mayBeThere: boolean,
): Promise<Sent> {
  const { signal, traceparent } = o;
  const call = { timeoutMs: SEND_TIMEOUT_MS, signal, traceparent };
  let ambiguous = mayBeThere;
  for (;;) {
    const sentAt = o.clock.now();
    try {
      const reply = await o.client.send(o.endpoint, message(delegation), call);
      link.contact();
      o.behaviour.recordAccepted(o.clock.now() - sentAt);
      if (reply.kind === 'task') await o.onTaken(reply.task.id);
      return reply;
    } catch (thrown) {
      const error = peerError(o.signal, thrown);
      if (!ambiguous && (declined(error) || neverArrived(error))) {
        if (error.code === 'PEER_UNREACHABLE') o.behaviour.recordFailure();
        return { kind: 'refused', reason: error.message, declined: declined(error) && !error.retryable };
      }
      if (!error.retryable) throw error;
      ambiguous = true;
      o.onRetry('send');
      await link.lost(error);
    }
  }
}

/** The task when it has ended there, or waits for an answer. */
async function follow(
  o: DelegateOptions,
  delegation: Delegation,
  link: Link,
  from: PeerTask | string,
): Promise<PeerTask> {
  let id = typeof from === 'string' ? from : from.id;
  let task = typeof from === 'string' ? undefined : from;
  const repeats = { left: MAX_REPEATS };
  for (let drops = 0; task === undefined || !stops(task); drops += 1) {
    if (drops > 0) await o.clock.sleep(backoffMs(drops, { ...PAUSE, random: o.random }), o.signal);
    task = await watchOnce(o, id, link, task);
    if (task === undefined || !stops(task)) {
      o.onRetry('stream');
      task = await ask(o, delegation, id, link, repeats);
      id = task.id;
    }
  }
  return isWaiting(task) || hasResult(task) ? task : ask(o, delegation, id, link, repeats);
}

const stops = (task: PeerTask): boolean => task.terminal || isWaiting(task);

/** Follows the stream until the task ends or asks, or the stream breaks; how it broke does not matter, asking comes next. */
async function watchOnce(
  o: DelegateOptions,
  id: string,
  link: Link,
  known: PeerTask | undefined,
): Promise<PeerTask | undefined> {
  let task = known;
  try {
    for await (const snapshot of o.client.watch(o.endpoint, id, {
      signal: o.signal,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      traceparent: o.traceparent,
    })) {
      link.contact();
      task = snapshot;
      await o.onTask(snapshot);
      if (stops(snapshot)) break;
    }
  } catch (thrown) {
    const error = peerError(o.signal, thrown);
    o.log.debug({ peer: o.endpoint.name, err: error }, 'stream from the peer ended early');
  }
  o.signal.throwIfAborted();
  return task;
}

/** The task as the peer has it now. A peer that does not know it any more gets the same payload again, once. */
async function ask(
  o: DelegateOptions,
  delegation: Delegation,
  id: string,
  link: Link,
  repeats: { left: number },
): Promise<PeerTask> {
  const { signal, traceparent } = o;
  for (;;) {
    try {
      const task = await o.client.getTask(o.endpoint, id, { timeoutMs: ASK_TIMEOUT_MS, signal, traceparent });
      link.contact();
      await o.onTask(task);
      return task;
    } catch (thrown) {
      const error = peerError(o.signal, thrown);
      if (error.retryable) {
        o.onRetry('ask');
        await link.lost(error);
        continue;
      }
      if (peerErrorCode(error) !== 'TASK_NOT_FOUND' || repeats.left === 0) throw error;
      repeats.left -= 1;
      const sent = await deliver(o, delegation, link, true);
      if (sent.kind === 'task') return sent.task;
      throw error;
    }
  }
}

function message({ messageId, contextId, payload }: Delegation) {
  return { messageId, contextId, data: payload, blocking: false };
}
