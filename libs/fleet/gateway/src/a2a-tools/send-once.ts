import type { OutboundMessage, PeerReply } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { ToolError } from '@hermes-fleet/protocol/ports';
import { findTaskOf, isDeclined, neverArrived, peerError } from '@hermes-fleet/relay';
import { type AgentCall, messageIdOf } from './agent-call.ts';
import { toToolError } from './directory.ts';

export interface OutgoingMessage {
  readonly text: string;
  /** Continues that context. */
  readonly contextId?: string | undefined;
  /** Answers that task. */
  readonly taskId?: string | undefined;
  /** Wait until the task ends or waits for its caller. */
  readonly blocking: boolean;
  readonly streaming: boolean;
}

/** `refused`: the message certainly did not arrive. `lost`: it may have arrived, but the answer did not. */
export type SendOutcome =
  | PeerReply
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'lost'; readonly error: FleetError };

const IDLE_TIMEOUT_MS = 45_000;
/** The timeout of a message that does not block. */
const QUICK_ANSWER_MS = 30_000;

/** Sends a message exactly once. `onAccepted` gets the task's ID as soon as it is known. Throws the signal's reason. */
export async function sendOnce(
  agentCall: AgentCall,
  outgoing: OutgoingMessage,
  contextId: string,
  onAccepted: (taskId: string) => Promise<void>,
): Promise<SendOutcome> {
  const { agent, call, signal } = agentCall;
  const { text, taskId, streaming } = outgoing;
  const message = { messageId: messageIdOf(call), contextId, text, blocking: false, taskId };
  const isStreamed = streaming && agent.card.capabilities?.streaming === true;
  try {
    return await (isStreamed
      ? stream(agentCall, message, onAccepted)
      : post(agentCall, message, outgoing, onAccepted));
  } catch (thrown) {
    const error = peerError(signal, thrown);
    const refusal = toToolError(error);
    if (refusal instanceof ToolError) return { kind: 'refused', why: refusal.message };
    if (neverArrived(error) || isDeclined(error)) return { kind: 'refused', why: error.message };
    return { kind: 'lost', error };
  }
}

async function post(
  { agent, signal, requestOptions, answerTimeoutMs, contact }: AgentCall,
  message: OutboundMessage,
  { blocking }: OutgoingMessage,
  onAccepted: (taskId: string) => Promise<void>,
): Promise<PeerReply> {
  const timeoutMs = blocking ? answerTimeoutMs() : Math.min(answerTimeoutMs(), QUICK_ANSWER_MS);
  const request = { ...requestOptions, timeoutMs, signal, isOnce: true };
  const reply = await agent.client.send(agent.endpoint, message, request);
  contact.recordAnswer();
  if (reply.kind === 'task') await onAccepted(reply.task.id);
  return reply;
}

/** Returns the stream's last reply. After a break, a task that the stream has shown can be followed. */
async function stream(
  { agent, signal, requestOptions, contact, onTask }: AgentCall,
  message: OutboundMessage,
  onAccepted: (taskId: string) => Promise<void>,
): Promise<PeerReply> {
  let last: PeerReply | undefined;
  try {
    const request = { signal, traceparent: requestOptions.traceparent, idleTimeoutMs: IDLE_TIMEOUT_MS };
    for await (const reply of agent.client.stream(agent.endpoint, message, request)) {
      contact.recordAnswer();
      if (reply.kind === 'task' && last === undefined) await onAccepted(reply.task.id);
      last = reply;
      if (reply.kind === 'task') await onTask(reply.task);
    }
  } catch (thrown) {
    const error = peerError(signal, thrown);
    if (last === undefined) throw error;
  }
  if (last === undefined) throw new FleetError('PEER_UNREACHABLE', `agent "${agent.label}" answered nothing`);
  return last;
}

/** Returns the ID of the message's task, or why the agent cannot tell. Throws the signal's reason. */
export async function findSent(
  { agent, call, signal, requestOptions, followOptions, contact }: AgentCall,
  { taskId }: OutgoingMessage,
  contextId: string,
): Promise<string | { readonly why: string }> {
  const messageId = messageIdOf(call);
  if (taskId !== undefined) {
    const shown = await agent.client
      .inspectTask(agent.endpoint, taskId, requestOptions)
      .catch((error: unknown) => {
        peerError(signal, error);
        return undefined;
      });
    if (shown?.messageIds.includes(messageId)) return taskId;
  }
  const found = await findTaskOf(followOptions, contact, { messageId, contextId });
  return found.kind === 'found' ? found.id : found;
}
