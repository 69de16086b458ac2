import type { ListedTask, PeerReply } from '@hermes-fleet/a2a';
import { backoffMs, type FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { DelegateOptions, Refused } from './delegate-options.ts';
import { declined, type Link, neverArrived, peerError } from './link.ts';

/** How long an agent may take to answer a message of a task that has no deadline; it may answer only when done. */
export const LONGEST_ANSWER_MS = 600_000;
export const ASK_TIMEOUT_MS = 5_000;
export const PAUSE = { firstMs: 200, longestMs: 5_000 };
/** How often a peer that answers is asked for a message that it does not show. */
const LOOKS = 3;

export interface ProseOptions extends DelegateOptions {
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number | undefined;
  /** What is left of the task's budget, Infinity without one; what the agent itself spent is not in it yet. */
  readonly remainingTokens: () => number;
  /** Called with an announce that the peer's answer holds. */
  readonly onAnnounce: (announce: JsonObject) => Promise<void>;
}

/** What it takes to look after a message at an agent. */
export type Following = Omit<ProseOptions, Told>;
type Told =
  | 'dialogue'
  | 'taskId'
  | 'replySchema'
  | 'outputSchema'
  | 'remainingTokens'
  | 'resumed'
  | 'onTaken'
  | 'onAnnounce';

/** A text on its way to an agent. */
export interface TextMessage {
  readonly messageId: string;
  readonly contextId: string;
  /** The task that it answers, where it begins none. */
  readonly taskId?: string;
  readonly text: string;
}

/** Nobody knows whether the agent has done what the message asked for. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly why: string;
}

/** The task that a message became. What a list shows of it may be less than all. */
export interface Found {
  readonly kind: 'found';
  readonly id: string;
}

/**
 * Sends a text once. An agent that knows nothing of the handshake takes a second copy for a second task: what may have
 * arrived is looked for, and never sent again (design 2, Blocked, Transport failures).
 */
export async function sendOnce(
  o: ProseOptions,
  link: Link,
  message: TextMessage,
): Promise<PeerReply | Found | Refused | Unknown> {
  const timeoutMs =
    o.deadlineAt === undefined ? LONGEST_ANSWER_MS : Math.max(1, o.deadlineAt - o.clock.now());
  const sentAt = o.clock.now();
  try {
    const call = { timeoutMs, signal: o.signal, traceparent: o.traceparent };
    const reply = await o.client.send(o.endpoint, { ...message, blocking: false }, call);
    link.contact();
    if (reply.kind === 'task') o.behaviour.recordAccepted(o.clock.now() - sentAt);
    return reply;
  } catch (thrown) {
    const error = peerError(o.signal, thrown);
    if (neverArrived(error) || declined(error)) {
      if (error.code === 'PEER_UNREACHABLE') o.behaviour.recordFailure();
      return { kind: 'refused', reason: error.message, declined: declined(error) && !error.retryable };
    }
    o.log.warn({ peer: o.endpoint.name, err: error }, 'answer of an agent was lost: looking for its task');
    o.onRetry('send');
    const found = await lookFor(o, link, message);
    return found.kind === 'unknown' ? { ...found, why: `${error.message}, and ${found.why}` } : found;
  }
}

/** The task that a message became, by the message's id among the peer's tasks of that context. */
export async function lookFor(
  o: Following,
  link: Link,
  { messageId, contextId }: Pick<TextMessage, 'messageId' | 'contextId'>,
): Promise<Found | Unknown> {
  const found = await lookThrough(o, link, contextId, (listed): Found | undefined => {
    const ours = listed.find(({ messageIds }) => messageIds.includes(messageId));
    return ours && { kind: 'found', id: ours.task.id };
  });
  return found ?? { kind: 'unknown', why: 'it shows no task for the message' };
}

/**
 * Looks through an agent's tasks of a context until `judge` makes something of them. An agent that answers is asked a few
 * times, since its list may lag behind; then it is undefined. One that is away is waited for.
 */
export async function lookThrough<T>(
  o: Following,
  link: Link,
  contextId: string,
  judge: (listed: readonly ListedTask[]) => T | undefined,
): Promise<T | Unknown | undefined> {
  for (let looks = 1; ; ) {
    try {
      const call = { timeoutMs: ASK_TIMEOUT_MS, signal: o.signal, traceparent: o.traceparent };
      const listed = await o.client.listTasks(o.endpoint, contextId, call);
      link.contact();
      const found = judge(listed);
      if (found !== undefined || looks >= LOOKS) return found;
      await o.clock.sleep(backoffMs(looks, { ...PAUSE, random: o.random }), o.signal);
      looks += 1;
    } catch (thrown) {
      const error = peerError(o.signal, thrown);
      if (!error.retryable) return { kind: 'unknown', why: `it cannot be asked (${error.message})` };
      o.onRetry('ask');
      const away = await awayFor(o, link, error);
      if (away) return away;
    }
  }
}

/** Waits before the next try; gives up on a peer that has been away too long. */
export async function awayFor(o: Following, link: Link, error: FleetError): Promise<Unknown | undefined> {
  try {
    await link.lost(error);
    return undefined;
  } catch (thrown) {
    const given = peerError(o.signal, thrown);
    if (given.code !== 'PEER_UNREACHABLE') throw given;
    return { kind: 'unknown', why: `it has not answered for ${Math.round(o.peerDownAfterMs / 1000)} s` };
  }
}
