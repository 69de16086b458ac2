import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import { backoffMs, FleetError, isA2AState } from '@hermes-fleet/protocol';
import { type Log, type ToolCall, ToolError } from '@hermes-fleet/protocol/ports';
import { followTask, RETRY_BACKOFF } from '@hermes-fleet/relay';
import {
  type AgentCall,
  type AgentCallOptions,
  type CallState,
  loadCallState,
  messageIdOf,
  openAgentCall,
  saveCallState,
} from './agent-call.ts';
import type { RemoteAgent } from './directory.ts';
import { findSent, type OutgoingMessage, sendOnce } from './send-once.ts';
import { bookReportedTokens } from './spending.ts';

/** `refused`: the message certainly did not arrive. */
export type MessageOutcome =
  | { readonly kind: 'answered'; readonly reply: PeerReply }
  | { readonly kind: 'refused'; readonly why: string }
  | OutcomeUnknown;

export interface OutcomeUnknown {
  readonly kind: 'unknown';
  readonly why: string;
  readonly contextId: string;
  readonly taskId: string | undefined;
}

export interface SendMessageOptions {
  /** Finds the agent; also called after a restart. */
  readonly findAgent: (signal: AbortSignal) => Promise<RemoteAgent>;
  readonly outgoing: OutgoingMessage;
  /** Called before a message is sent for the first time, with its context at the agent. */
  readonly onSending: (agent: RemoteAgent, contextId: string) => Promise<void>;
  /** Receives each snapshot of the agent's task. */
  readonly onTask: (agent: RemoteAgent, task: PeerTask) => Promise<void>;
}

/**
 * Sends a message exactly once and waits for its outcome. When the answer is lost, also by a restart, the message is
 * looked for and never sent again: an agent would take a second copy for a second task. The end of the call cancels the
 * agent's task; the end of the process leaves it for the next start. Throws ToolError for a task that accepts no answer,
 * the errors of reading the agent card, and the reasons of `signal` and `stopping`.
 */
export async function sendMessage(
  options: AgentCallOptions,
  call: ToolCall,
  { findAgent, outgoing, onSending, onTask }: SendMessageOptions,
): Promise<{ readonly agent: RemoteAgent; readonly outcome: MessageOutcome }> {
  const signal = AbortSignal.any([call.signal, call.stopping]);
  const agent = await findWithRetry(options, findAgent, signal, loadCallState(call) !== undefined);
  const agentCall = openAgentCall(options, agent, call, signal, (task) => onTask(agent, task));
  try {
    return { agent, outcome: await sendOrResume(agentCall, outgoing, onSending) };
  } catch (error) {
    const isLeft = call.stopping.aborted || isShutdown(call.signal.reason);
    if (call.signal.aborted && !isLeft) await cancelRemoteTask(options.log, agentCall);
    signal.throwIfAborted();
    throw error;
  }
}

const isShutdown = (reason: unknown): boolean =>
  reason instanceof FleetError && reason.code === 'SHUTTING_DOWN';

/** Retries only for a resumed call: the agent may have the message already and be restarting. */
async function findWithRetry(
  { clock, random, agentDownAfterMs }: AgentCallOptions,
  findAgent: SendMessageOptions['findAgent'],
  signal: AbortSignal,
  isResumed: boolean,
): Promise<RemoteAgent> {
  const startedAt = clock.now();
  for (let failures = 1; ; failures += 1) {
    try {
      return await findAgent(signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const mayPass = thrown instanceof FleetError && thrown.retryable;
      if (!isResumed || !mayPass || clock.now() - startedAt >= agentDownAfterMs) throw thrown;
      await clock.sleep(backoffMs(failures, { ...RETRY_BACKOFF, random }), signal);
    }
  }
}

async function sendOrResume(
  agentCall: AgentCall,
  outgoing: OutgoingMessage,
  onSending: SendMessageOptions['onSending'],
): Promise<MessageOutcome> {
  const { agent, call, followOptions } = agentCall;
  const known = loadCallState(call);
  if (known) return resume(agentCall, outgoing, known);
  const before = await taskToAnswer(agentCall, outgoing);
  const contextId = before?.contextId || outgoing.contextId || messageIdOf(call);
  const state: CallState = { contextId };
  await onSending(agent, contextId);
  await saveCallState(call, state);
  const onAccepted = (taskId: string): Promise<void> => saveCallState(call, { ...state, taskId });
  const sent = await sendOnce(agentCall, outgoing, contextId, onAccepted);
  if (sent.kind === 'refused') return sent;
  if (sent.kind === 'message') return { kind: 'answered', reply: sent };
  if (sent.kind === 'task') return awaitTask(agentCall, outgoing, contextId, sent.task, before?.statusId);
  followOptions.log.warn(
    { agent: agent.label, err: sent.error },
    'answer of an agent was lost: looking for its task',
  );
  const outcome = await resume(agentCall, outgoing, state);
  return outcome.kind === 'unknown'
    ? { ...outcome, why: `${sent.error.message}, and ${outcome.why}` }
    : outcome;
}

/** Continues with a message that was sent, or may have been. */
async function resume(
  agentCall: AgentCall,
  outgoing: OutgoingMessage,
  state: CallState,
): Promise<MessageOutcome> {
  const { contextId } = state;
  let taskId = state.taskId;
  if (taskId === undefined) {
    const found = await findSent(agentCall, outgoing, contextId);
    if (typeof found !== 'string')
      return { kind: 'unknown', why: found.why, contextId, taskId: outgoing.taskId };
    taskId = found;
    await saveCallState(agentCall.call, { ...state, taskId });
  }
  return awaitTask(agentCall, outgoing, contextId, taskId);
}

/** The task that the message answers, if it answers one. Throws ToolError for a task that has ended. */
async function taskToAnswer(
  { agent, requestOptions }: AgentCall,
  { taskId }: OutgoingMessage,
): Promise<PeerTask | undefined> {
  if (taskId === undefined) return undefined;
  const task = await agent.client.getTask(agent.endpoint, taskId, requestOptions);
  if (!task.terminal) return task;
  const inContext =
    task.contextId === '' ? '' : `, and with context_id ${JSON.stringify(task.contextId.slice(0, 256))}`;
  throw new ToolError(`that task is over (${stateOf(task)}): call again without task_id${inContext}`);
}

/**
 * Resolves when the agent's task ends or waits for its caller, or at once for a message that does not block.
 * `answeredStatus` is the ID of the status that the message answers; the agent may still show it.
 */
async function awaitTask(
  { agent, requestOptions, followOptions, contact, onTask }: AgentCall,
  { blocking }: OutgoingMessage,
  contextId: string,
  from: PeerTask | string,
  answeredStatus?: string,
): Promise<MessageOutcome> {
  if (!blocking) {
    const task =
      typeof from === 'string' ? await agent.client.getTask(agent.endpoint, from, requestOptions) : from;
    return { kind: 'answered', reply: { kind: 'task', task } };
  }
  if (typeof from !== 'string') await onTask(from);
  const ended = await followTask(followOptions, contact, from, answeredStatus);
  if ('why' in ended)
    return { kind: 'unknown', why: ended.why, contextId, taskId: typeof from === 'string' ? from : from.id };
  return { kind: 'answered', reply: { kind: 'task', task: ended } };
}

/** Three calls of this length fit into the time that an aborted run has to end. */
const CANCEL_TIMEOUT_MS = 3_000;

/** Cancels the task that the call started, and books the tokens it reports. Bounded in time; never throws. */
async function cancelRemoteTask(log: Log, { agent, call }: AgentCall): Promise<void> {
  const { client, endpoint, label } = agent;
  const state = loadCallState(call);
  if (state === undefined) return;
  const request = { timeoutMs: CANCEL_TIMEOUT_MS, traceparent: call.task.traceparent };
  try {
    let id = state.taskId;
    if (id === undefined) {
      const listed = await client.listTasks(endpoint, state.contextId, request);
      id = listed.find(({ messageIds }) => messageIds.includes(messageIdOf(call)))?.task.id;
    }
    if (id === undefined) return;
    const known = id;
    const task = await client
      .cancelTask(endpoint, known, request)
      // The task may have ended first.
      .catch(() => client.getTask(endpoint, known, request));
    await bookReportedTokens(call, agent, { kind: 'task', task });
  } catch (error) {
    log.warn({ agent: label, err: error }, 'task at an agent could not be canceled: it may continue');
  }
}

/** The task's A2A state; `unknown` for a word that is not one. */
export function stateOf({ state }: Pick<PeerTask, 'state'>): string {
  return isA2AState(state) ? state : 'unknown';
}
