import type { ListedTask, PeerReply } from '@hermes-fleet/a2a';
import { backoffMs, type JsonObject } from '@hermes-fleet/protocol';
import type { MessagePart } from '@hermes-fleet/protocol/ports';
import type {
  DelegateOptions,
  FollowOptions as PeerOptions,
  RefusedDispatch,
} from '../delegation/delegate-options.ts';
import {
  isDeclined,
  neverArrived,
  type PeerContact,
  peerError,
  QUERY_TIMEOUT_MS,
  RETRY_BACKOFF,
} from '../delegation/peer-contact.ts';

/** The longest wait for an answer to a task without a deadline, ms; an agent may answer only when it has finished. */
export const MAX_ANSWER_MS = 600_000;
/** How many times an agent's task list is searched for a message before the message counts as not listed. */
const MAX_SEARCHES = 3;

/** The options that are needed to find and follow a message's task. */
export interface FollowOptions extends PeerOptions {
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number | undefined;
}

export interface ProseOptions extends DelegateOptions, FollowOptions {
  readonly signal: AbortSignal;
  /** The rest of the task's budget, Infinity without one; tokens that this agent spent are not deducted yet. */
  readonly remainingTokens: () => number;
  /** Receives each announce in the peer's answer. */
  readonly onAnnounce: (announce: JsonObject) => Promise<void>;
}

export interface TextMessage {
  readonly messageId: string;
  readonly contextId: string;
  /** The task that this message answers; absent when it begins a task. */
  readonly taskId?: string;
  readonly text: string;
  /** Data and files beside the text. */
  readonly parts?: readonly MessagePart[];
}

/** It cannot be determined if the agent did the work. */
export interface OutcomeUnknown {
  readonly kind: 'unknown';
  readonly why: string;
}

/** The ID of a message's task; a task list may show less than the whole task. */
export interface FoundTask {
  readonly kind: 'found';
  readonly id: string;
}

/**
 * Sends a text exactly once. An agent without the handshake takes a second copy for a second task, so a message that may
 * have arrived is looked for and never sent again (docs/handshake.md#network-failures).
 */
export async function sendOnce(
  options: ProseOptions,
  contact: PeerContact,
  message: TextMessage,
): Promise<PeerReply | FoundTask | RefusedDispatch | OutcomeUnknown> {
  const { client, endpoint, health, clock, signal, traceparent } = options;
  const sentAt = clock.monotonic();
  try {
    const call = { timeoutMs: answerTimeoutMs(options), signal, traceparent, isOnce: true };
    const reply = await client.send(endpoint, { ...message, blocking: false }, call);
    contact.recordAnswer();
    if (reply.kind === 'task') health.recordAccepted(clock.monotonic() - sentAt);
    return reply;
  } catch (thrown) {
    const error = peerError(signal, thrown);
    if (neverArrived(error) || isDeclined(error)) {
      if (error.code === 'PEER_UNREACHABLE') health.recordFailure();
      return { kind: 'refused', reason: error.message, declined: isDeclined(error) && !error.retryable };
    }
    options.log.warn(
      { peer: endpoint.name, err: error },
      'answer of an agent was lost: looking for its task',
    );
    options.onRetry('send');
    const found = await findTaskOf(options, contact, message);
    return found.kind === 'unknown' ? { ...found, why: `${error.message}, and ${found.why}` } : found;
  }
}

/** The time until the deadline, or MAX_ANSWER_MS without one. */
export function answerTimeoutMs({ deadlineAt, clock }: Pick<ProseOptions, 'deadlineAt' | 'clock'>): number {
  return deadlineAt === undefined ? MAX_ANSWER_MS : Math.max(1, deadlineAt - clock.now());
}

/** Finds a message's task by the message ID, among the peer's tasks of that context. */
export async function findTaskOf(
  options: FollowOptions,
  contact: PeerContact,
  { messageId, contextId }: Pick<TextMessage, 'messageId' | 'contextId'>,
): Promise<FoundTask | OutcomeUnknown> {
  const found = await searchTasks(options, contact, contextId, (listed): FoundTask | undefined => {
    const ours = listed.find(({ messageIds }) => messageIds.includes(messageId));
    return ours && { kind: 'found', id: ours.task.id };
  });
  return found ?? { kind: 'unknown', why: 'it shows no task for the message' };
}

/**
 * Lists an agent's tasks of a context until `judge` returns a value. The list may lag behind, so it is read a few times
 * before the search gives up with undefined. Waits for an agent that is unreachable.
 */
export async function searchTasks<T>(
  options: FollowOptions,
  contact: PeerContact,
  contextId: string,
  judge: (listed: readonly ListedTask[]) => T | undefined,
): Promise<T | OutcomeUnknown | undefined> {
  const { client, endpoint, clock, random, signal, traceparent } = options;
  try {
    for (let searches = 1; ; searches += 1) {
      const listed = await contact.untilAnswered('ask', () =>
        client.listTasks(endpoint, contextId, { timeoutMs: QUERY_TIMEOUT_MS, signal, traceparent }),
      );
      contact.recordAnswer();
      const found = judge(listed);
      if (found !== undefined || searches >= MAX_SEARCHES) return found;
      await clock.sleep(backoffMs(searches, { ...RETRY_BACKOFF, random }), signal);
    }
  } catch (thrown) {
    return unknownAfter(options, thrown, (why) => `it cannot be asked (${why})`);
  }
}

/**
 * The unknown outcome after a call that nothing more is to be learned from: the peer has been unreachable too long, or has
 * refused it, as `refusal` says. Throws the signal's reason.
 */
export function unknownAfter(
  { signal, peerDownAfterMs }: FollowOptions,
  thrown: unknown,
  refusal: (why: string) => string,
): OutcomeUnknown {
  const error = peerError(signal, thrown);
  const away = `it has not answered for ${Math.round(peerDownAfterMs / 1000)} s`;
  return { kind: 'unknown', why: error.retryable ? away : refusal(error.message) };
}
