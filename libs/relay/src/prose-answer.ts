import type { PeerReply } from '@hermes-fleet/a2a';
import { declined, type Link, neverArrived, peerError } from './link.ts';
import {
  awayFor,
  type Found,
  LONGEST_ANSWER_MS,
  lookThrough,
  type ProseOptions,
  type TextMessage,
  type Unknown,
} from './prose-exchange.ts';

/** The agent has said for certain that it takes no such answer. */
export interface Declined {
  readonly kind: 'declined';
  readonly reason: string;
}

/**
 * Tells an agent its caller's answer, once: one that knows nothing of the handshake takes a copy for a second answer. What
 * may have arrived is looked for in the task's history, which begins with the message `firstId`; it is sent again only
 * where that history shows for certain that it is not there.
 */
export async function tellOnce(
  o: ProseOptions,
  link: Link,
  message: TextMessage & { readonly taskId: string },
  firstId: string,
  mayBeThere: boolean,
): Promise<PeerReply | Found | Unknown | Declined> {
  for (let ambiguous = mayBeThere; ; ) {
    if (ambiguous) {
      const there = await look(o, link, message, firstId);
      if (there !== undefined) return there;
    }
    try {
      const timeoutMs =
        o.deadlineAt === undefined ? LONGEST_ANSWER_MS : Math.max(1, o.deadlineAt - o.clock.now());
      const call = { timeoutMs, signal: o.signal, traceparent: o.traceparent };
      const reply = await o.client.send(o.endpoint, { ...message, blocking: false }, call);
      link.contact();
      return reply;
    } catch (thrown) {
      const error = peerError(o.signal, thrown);
      const isSure = neverArrived(error) || declined(error);
      if (isSure && !error.retryable) return { kind: 'declined', reason: error.message };
      ambiguous = !isSure;
      o.onRetry('answer');
      const away = await awayFor(o, link, error);
      if (away) return away;
    }
  }
}

/** Whether the task's history shows the message; undefined where it shows for certain that it is not there. */
function look(
  o: ProseOptions,
  link: Link,
  { messageId, contextId, taskId }: TextMessage & { readonly taskId: string },
  firstId: string,
): Promise<Found | Unknown | undefined> {
  return lookThrough(o, link, contextId, (listed): Found | Unknown | undefined => {
    const shown = listed.find(({ task }) => task.id === taskId)?.messageIds ?? [];
    if (shown.includes(messageId)) return { kind: 'found', id: taskId };
    if (shown.includes(firstId)) return undefined;
    return { kind: 'unknown', why: `it does not show whether the answer to its task ${taskId} arrived` };
  });
}
