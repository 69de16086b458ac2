import type { OutboundMessage, PeerReply } from '@hermes-fleet/a2a';
import { FleetError, ToolError } from '@hermes-fleet/protocol';
import { declined, lookFor, neverArrived, peerError } from '@hermes-fleet/relay';
import type { Channel } from './channel.ts';
import { refusalOf } from './directory.ts';
import { messageIdOf } from './memo.ts';

/** One message to an agent. */
export interface Outgoing {
  readonly text: string;
  /** Goes on in that context, or in that task of it. */
  readonly contextId?: string | undefined;
  readonly taskId?: string | undefined;
  /** Whether to wait until its task is over, or waits for its caller. */
  readonly blocking: boolean;
  readonly streaming: boolean;
}

/** What a sending came to: an answer, nothing (it certainly did not arrive), or nobody knows. */
export type Sent =
  | PeerReply
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'lost'; readonly error: FleetError };

const IDLE_TIMEOUT_MS = 45_000;
/** For an answer that nobody waits for. */
const QUICK_ANSWER_MS = 30_000;

/** Sends a message, once. `onTaken` learns the agent's task as soon as it is known. Throws the signal's reason. */
export async function sendOnce(
  channel: Channel,
  outgoing: Outgoing,
  contextId: string,
  onTaken: (taskId: string) => Promise<void>,
): Promise<Sent> {
  const { agent, call, signal } = channel;
  const { text, taskId, streaming } = outgoing;
  const message = {
    messageId: messageIdOf(call),
    contextId,
    text,
    blocking: false,
    ...(taskId === undefined ? {} : { taskId }),
  };
  const isStreamed = streaming && agent.card.capabilities?.streaming === true;
  try {
    return await (isStreamed ? stream(channel, message, onTaken) : post(channel, message, outgoing, onTaken));
  } catch (thrown) {
    const error = peerError(signal, thrown);
    const refusal = refusalOf(error);
    if (refusal instanceof ToolError) return { kind: 'refused', why: refusal.message };
    if (neverArrived(error) || declined(error)) return { kind: 'refused', why: error.message };
    return { kind: 'lost', error };
  }
}

async function post(
  { agent, signal, asked, patienceMs, link }: Channel,
  message: OutboundMessage,
  { blocking }: Outgoing,
  onTaken: (taskId: string) => Promise<void>,
): Promise<PeerReply> {
  const timeoutMs = blocking ? patienceMs() : Math.min(patienceMs(), QUICK_ANSWER_MS);
  const reply = await agent.client.send(agent.endpoint, message, { ...asked, timeoutMs, signal });
  link.contact();
  if (reply.kind === 'task') await onTaken(reply.task.id);
  return reply;
}

/** The last that a stream has shown; where it breaks after it has begun, the task is known and can be followed. */
async function stream(
  { agent, signal, asked, link, onTask }: Channel,
  message: OutboundMessage,
  onTaken: (taskId: string) => Promise<void>,
): Promise<PeerReply> {
  let last: PeerReply | undefined;
  try {
    const options = { signal, traceparent: asked.traceparent, idleTimeoutMs: IDLE_TIMEOUT_MS };
    for await (const reply of agent.client.stream(agent.endpoint, message, options)) {
      link.contact();
      if (reply.kind === 'task' && last === undefined) await onTaken(reply.task.id);
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

/** The task that a message became, where the agent can tell. Throws the signal's reason. */
export async function findSent(
  { agent, call, signal, asked, following, link }: Channel,
  { taskId }: Outgoing,
  contextId: string,
): Promise<string | { readonly why: string }> {
  const messageId = messageIdOf(call);
  if (taskId !== undefined) {
    const shown = await agent.client.inspectTask(agent.endpoint, taskId, asked).catch((error: unknown) => {
      peerError(signal, error);
      return undefined;
    });
    if (shown?.messageIds.includes(messageId)) return taskId;
  }
  const found = await lookFor(following, link, { messageId, contextId });
  return found.kind === 'found' ? found.id : found;
}
