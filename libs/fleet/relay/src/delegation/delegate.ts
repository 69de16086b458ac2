import { type PeerReply, type PeerTask, peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs, type ErrorCode } from '@hermes-fleet/protocol';
import { awaitAnswer } from './await-answer.ts';
import { cancelDelegation } from './cancel-delegation.ts';
import type { DelegateOptions, DelegationOutcome, RefusedDispatch } from './delegate-options.ts';
import { type Delegation, dispatchMessage } from './delegation.ts';
import {
  createPeerContact,
  isDeclined,
  neverArrived,
  type PeerContact,
  peerError,
  RETRY_BACKOFF,
  readTask,
  watchOnce,
} from './peer-contact.ts';
import { type AnswerMessage, isWaitingForCaller, unansweredResult } from './question-exchange.ts';
import { answerOf, hasResult, resultOf } from './remote-result.ts';

const SEND_TIMEOUT_MS = 10_000;
/** Bounds the resends to a peer that keeps forgetting the task, and would begin the work again each time. */
const MAX_RESENDS = 1;

/**
 * Delegates a task to one peer and follows it to its end: sends the dispatch without blocking, follows the stream, and
 * polls after a disconnect. When an answer is lost, the same bytes are sent again; the peer's idempotency makes that the
 * same task (docs/handshake.md#idempotency). The peer's questions go to the caller, and the answers to the peer. Throws
 * PEER_UNREACHABLE when the peer is unreachable too long, and the signal's reason.
 */
export async function delegate(options: DelegateOptions, delegation: Delegation): Promise<DelegationOutcome> {
  const { questions } = options;
  let contact = createPeerContact(options);
  let task: PeerTask | undefined;
  if (delegation.remoteTaskId === undefined) {
    const sent = await sendDispatch(options, delegation, contact, options.resumed);
    if (sent.kind === 'refused') return sent;
    if (sent.kind === 'message') return { kind: 'result', result: resultOf(answerOf(sent), options) };
    task = sent.task;
  }
  let from = task ?? delegation.remoteTaskId ?? '';
  const undelivered = await questions.undeliveredAnswer();
  if (undelivered) from = await deliverAnswer(options, delegation, contact, idOf(from), undelivered);
  let pending = questions.pendingQuestion();
  for (;;) {
    const current = pending ?? (await followTask(options, delegation, contact, from));
    pending = undefined;
    if (current.terminal) return { kind: 'result', result: resultOf(current, options) };
    const awaited = await awaitAnswer(
      options,
      current,
      (now) => isWaitingForCaller(now) && now.statusId === current.statusId,
    );
    contact = createPeerContact(options);
    if ('moved' in awaited) from = awaited.moved;
    else if (awaited.answer)
      from = await deliverAnswer(options, delegation, contact, current.id, awaited.answer);
    else {
      const canceled = await cancelDelegation(options, { ...delegation, remoteTaskId: current.id });
      return { kind: 'result', result: unansweredResult(options, current, canceled) };
    }
  }
}

const idOf = (task: PeerTask | string): string => (typeof task === 'string' ? task : task.id);

/**
 * Sends the caller's answer until the peer has it; the peer deduplicates by message ID. Returns the task, or its ID when
 * the peer's task has ended or is unknown there and has to be queried next.
 */
async function deliverAnswer(
  options: DelegateOptions,
  delegation: Delegation,
  contact: PeerContact,
  taskId: string,
  { messageId, text }: AnswerMessage,
): Promise<PeerTask | string> {
  const { client, endpoint, questions, signal, traceparent } = options;
  const answer = { messageId, text, contextId: delegation.contextId, taskId, blocking: false };
  try {
    return await contact.untilAnswered('answer', async () => {
      const reply = await client.send(endpoint, answer, { timeoutMs: SEND_TIMEOUT_MS, signal, traceparent });
      contact.recordAnswer();
      await questions.markDelivered();
      if (reply.kind !== 'task') return taskId;
      // A copy of an answer shows a task that may have ended since.
      await options.onTask(reply.task, !isSettled(reply.task));
      return reply.task;
    });
  } catch (thrown) {
    const error = peerError(signal, thrown);
    if (error.retryable) throw error;
    if (!NO_LONGER_WAITING.has(peerErrorCode(error))) {
      await cancelDelegation(options, { ...delegation, remoteTaskId: taskId });
      throw error;
    }
    await questions.markDelivered();
    return taskId;
  }
}

/** A peer's errors for an answer to a task that does not wait for one. */
const NO_LONGER_WAITING: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode | undefined>([
  'UNSUPPORTED_OPERATION',
  'TASK_NOT_FOUND',
]);

async function sendDispatch(
  options: DelegateOptions,
  delegation: Delegation,
  contact: PeerContact,
  mayHaveArrived: boolean,
): Promise<PeerReply | RefusedDispatch> {
  const { client, endpoint, health, clock, signal, traceparent } = options;
  // A peer that reads the dispatch after it was given up must not begin.
  const until = options.acceptUntil?.(contact.giveUpAt());
  const message = dispatchMessage(delegation, options, until);
  let ambiguous = mayHaveArrived;
  const onResend = (): void => {
    ambiguous = true;
  };
  const call = { timeoutMs: SEND_TIMEOUT_MS, signal, traceparent, onResend };
  for (;;) {
    const sentAt = clock.monotonic();
    try {
      const reply = await client.send(endpoint, message, call);
      contact.recordAnswer();
      health.recordAccepted(clock.monotonic() - sentAt);
      if (reply.kind === 'task') {
        await options.onAccepted(reply.task.id);
        await options.onTask(reply.task, !isSettled(reply.task));
      }
      return reply;
    } catch (thrown) {
      const error = peerError(signal, thrown);
      if (peerErrorCode(error) === 'DISPATCH_EXPIRED') {
        // The peer has none of the copies, and accepts none of them any more.
        contact.recordAnswer();
        return { kind: 'refused', reason: error.message };
      }
      if (!ambiguous && (isDeclined(error) || neverArrived(error))) {
        if (error.code === 'PEER_UNREACHABLE') health.recordFailure();
        return { kind: 'refused', reason: error.message, declined: isDeclined(error) && !error.retryable };
      }
      if (!error.retryable) throw error;
      ambiguous = true;
      options.onRetry('send');
      await contact.waitToRetry(error);
    }
  }
}

/** Resolves with the task when it has ended at the peer or waits for its caller. */
async function followTask(
  options: DelegateOptions,
  delegation: Delegation,
  contact: PeerContact,
  from: PeerTask | string,
): Promise<PeerTask> {
  const { clock, random, signal } = options;
  let id = idOf(from);
  let task = typeof from === 'string' ? undefined : from;
  const resends = { left: MAX_RESENDS };
  for (let drops = 0; task === undefined || !isSettled(task); drops += 1) {
    if (drops > 0) await clock.sleep(backoffMs(drops, { ...RETRY_BACKOFF, random }), signal);
    ({ task } = await watchOnce(options, contact, id, task, isSettled));
    signal.throwIfAborted();
    if (task === undefined || !isSettled(task)) {
      options.onRetry('stream');
      task = await queryTask(options, delegation, id, contact, resends);
      id = task.id;
    }
  }
  return isWaitingForCaller(task) || hasResult(task)
    ? task
    : queryTask(options, delegation, id, contact, resends);
}

const isSettled = (task: PeerTask): boolean => task.terminal || isWaitingForCaller(task);

/** Reads the task from the peer. A peer that does not know the task gets the same payload again, at most once. */
async function queryTask(
  options: DelegateOptions,
  delegation: Delegation,
  id: string,
  contact: PeerContact,
  resends: { left: number },
): Promise<PeerTask> {
  try {
    return await readTask(options, contact, id);
  } catch (thrown) {
    const error = peerError(options.signal, thrown);
    if (peerErrorCode(error) !== 'TASK_NOT_FOUND' || resends.left === 0) throw error;
    resends.left -= 1;
    contact.recordAnswer();
    const sent = await sendDispatch(options, delegation, contact, true);
    if (sent.kind === 'task') return sent.task;
    throw error;
  }
}
