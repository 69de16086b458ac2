import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import { backoffMs, FleetError, type ToolCall, ToolError } from '@hermes-fleet/protocol';
import { followTask, PAUSE } from '@hermes-fleet/relay';
import { type Channel, type ChannelParts, openChannel } from './channel.ts';
import type { RemoteAgent } from './directory.ts';
import { loadMemo, type Memo, messageIdOf, saveMemo } from './memo.ts';
import { findSent, type Outgoing, sendOnce } from './send.ts';
import { stateOf } from './state.ts';
import { withdraw } from './withdraw.ts';

/** What became of a message: an answer, nothing (it certainly did not arrive), or nobody knows. */
export type Exchanged =
  | { readonly kind: 'answered'; readonly reply: PeerReply }
  | { readonly kind: 'refused'; readonly why: string }
  | Unknown;

export interface Unknown {
  readonly kind: 'unknown';
  readonly why: string;
  readonly contextId: string;
  readonly taskId: string | undefined;
}

export interface ExchangeOptions {
  /** Finds the agent, also again after a restart. */
  readonly find: (signal: AbortSignal) => Promise<RemoteAgent>;
  readonly outgoing: Outgoing;
  /** Called with the agent's task whenever it is seen. */
  readonly onTask: (agent: RemoteAgent, task: PeerTask) => Promise<void>;
}

/**
 * Sends a message once and waits for what becomes of it. Where the answer is lost, also by a restart, the message is
 * looked for and never sent again: an agent would take a second copy for a second task. The call's own end cancels the
 * agent's task; the end of the process leaves it, for the next start to go on with. Throws ToolError for a task that
 * takes no answer, what the agent's card came to, and the reasons of `signal` and `stopping`.
 */
export async function exchange(
  parts: ChannelParts,
  call: ToolCall,
  { find, outgoing, onTask }: ExchangeOptions,
): Promise<{ readonly agent: RemoteAgent; readonly exchanged: Exchanged }> {
  const signal = AbortSignal.any([call.signal, call.stopping]);
  const agent = await findPatiently(parts, find, signal, loadMemo(call) !== undefined);
  const channel = openChannel(parts, agent, call, signal, (task) => onTask(agent, task));
  try {
    return { agent, exchanged: await carryOut(channel, outgoing) };
  } catch (error) {
    const isLeft = call.stopping.aborted || isShutdown(call.signal.reason);
    if (call.signal.aborted && !isLeft) await withdraw(parts, channel);
    signal.throwIfAborted();
    throw error;
  }
}

const isShutdown = (reason: unknown): boolean =>
  reason instanceof FleetError && reason.code === 'SHUTTING_DOWN';

/** An agent that may have the message already may be restarting, as we did. */
async function findPatiently(
  { clock, random, agentDownAfterMs }: ChannelParts,
  find: ExchangeOptions['find'],
  signal: AbortSignal,
  isResumed: boolean,
): Promise<RemoteAgent> {
  const startedAt = clock.now();
  for (let failures = 1; ; failures += 1) {
    try {
      return await find(signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const mayPass = thrown instanceof FleetError && thrown.retryable;
      if (!isResumed || !mayPass || clock.now() - startedAt >= agentDownAfterMs) throw thrown;
      await clock.sleep(backoffMs(failures, { ...PAUSE, random }), signal);
    }
  }
}

async function carryOut(channel: Channel, outgoing: Outgoing): Promise<Exchanged> {
  const { call } = channel;
  const known = loadMemo(call);
  if (known) return resume(channel, outgoing, known);
  const before = await taskToAnswer(channel, outgoing);
  const contextId = before?.contextId || outgoing.contextId || messageIdOf(call);
  const memo: Memo = { contextId };
  await saveMemo(call, memo);
  const onTaken = (taskId: string): Promise<void> => saveMemo(call, { ...memo, taskId });
  const sent = await sendOnce(channel, outgoing, contextId, onTaken);
  if (sent.kind === 'refused') return sent;
  if (sent.kind === 'message') return { kind: 'answered', reply: sent };
  if (sent.kind === 'task') return settle(channel, outgoing, contextId, sent.task, before?.statusId);
  channel.following.log.warn(
    { agent: channel.agent.label, err: sent.error },
    'answer of an agent was lost: looking for its task',
  );
  const exchanged = await resume(channel, outgoing, memo);
  return exchanged.kind === 'unknown'
    ? { ...exchanged, why: `${sent.error.message}, and ${exchanged.why}` }
    : exchanged;
}

/** Goes on with what was sent, or may have been. */
async function resume(channel: Channel, outgoing: Outgoing, memo: Memo): Promise<Exchanged> {
  const { contextId } = memo;
  let taskId = memo.taskId;
  if (taskId === undefined) {
    const found = await findSent(channel, outgoing, contextId);
    if (typeof found !== 'string')
      return { kind: 'unknown', why: found.why, contextId, taskId: outgoing.taskId };
    taskId = found;
    await saveMemo(channel.call, { ...memo, taskId });
  }
  return settle(channel, outgoing, contextId, taskId);
}

/** The task that is to be answered; throws ToolError for one that is over. */
async function taskToAnswer({ agent, asked }: Channel, { taskId }: Outgoing): Promise<PeerTask | undefined> {
  if (taskId === undefined) return undefined;
  const task = await agent.client.getTask(agent.endpoint, taskId, asked);
  if (!task.terminal) return task;
  const inContext =
    task.contextId === '' ? '' : `, and with context_id ${JSON.stringify(task.contextId.slice(0, 256))}`;
  throw new ToolError(`that task is over (${stateOf(task)}): call again without task_id${inContext}`);
}

/**
 * The agent's task when it is over or waits for its caller; as it is now where nobody waits for that. A status of the id
 * `answered` is the one that the message answers, which an agent may still show.
 */
async function settle(
  { agent, asked, following, link, onTask }: Channel,
  { blocking }: Outgoing,
  contextId: string,
  from: PeerTask | string,
  answered?: string,
): Promise<Exchanged> {
  if (!blocking) {
    const task = typeof from === 'string' ? await agent.client.getTask(agent.endpoint, from, asked) : from;
    return { kind: 'answered', reply: { kind: 'task', task } };
  }
  if (typeof from !== 'string') await onTask(from);
  const ended = await followTask(following, link, from, answered);
  if ('why' in ended)
    return { kind: 'unknown', why: ended.why, contextId, taskId: typeof from === 'string' ? from : from.id };
  return { kind: 'answered', reply: { kind: 'task', task: ended } };
}
