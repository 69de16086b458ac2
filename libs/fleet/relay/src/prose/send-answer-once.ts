import type { PeerReply } from '@hermes-fleet/a2a';
import { isDeclined, neverArrived, type PeerContact, peerError } from '../delegation/peer-contact.ts';
import {
  answerTimeoutMs,
  type FoundTask,
  type OutcomeUnknown,
  type ProseOptions,
  searchTasks,
  type TextMessage,
  unknownAfter,
} from './send-once.ts';

/** The agent answered that it does not accept the answer. */
export interface DeclinedAnswer {
  readonly kind: 'declined';
  readonly reason: string;
}

type AnswerToTask = TextMessage & { readonly taskId: string };

/**
 * Sends the caller's answer to an agent exactly once: an agent without the handshake takes a copy for a second answer. An
 * answer that may have arrived is looked for in the task's history, which begins with message `firstId`. It is sent again
 * only when that history shows that it is missing.
 */
export async function sendAnswerOnce(
  options: ProseOptions,
  contact: PeerContact,
  message: AnswerToTask,
  firstId: string,
  mayHaveArrived: boolean,
): Promise<PeerReply | FoundTask | OutcomeUnknown | DeclinedAnswer> {
  const { client, endpoint, signal, traceparent } = options;
  for (let ambiguous = mayHaveArrived; ; ) {
    if (ambiguous) {
      const found = await findAnswer(options, contact, message, firstId);
      if (found !== undefined) return found;
    }
    try {
      const call = { timeoutMs: answerTimeoutMs(options), signal, traceparent, isOnce: true };
      const reply = await client.send(endpoint, { ...message, blocking: false }, call);
      contact.recordAnswer();
      return reply;
    } catch (thrown) {
      const error = peerError(signal, thrown);
      const isCertain = neverArrived(error) || isDeclined(error);
      if (isCertain && !error.retryable) return { kind: 'declined', reason: error.message };
      ambiguous = !isCertain;
      options.onRetry('answer');
      try {
        await contact.waitToRetry(error);
      } catch (final) {
        return unknownAfter(options, final, (why) => why);
      }
    }
  }
}

/** Looks for the message in the task's history; undefined when the history shows that it is missing. */
function findAnswer(
  options: ProseOptions,
  contact: PeerContact,
  { messageId, contextId, taskId }: AnswerToTask,
  firstId: string,
): Promise<FoundTask | OutcomeUnknown | undefined> {
  return searchTasks(options, contact, contextId, (listed): FoundTask | OutcomeUnknown | undefined => {
    const history = listed.find(({ task }) => task.id === taskId)?.messageIds ?? [];
    if (history.includes(messageId)) return { kind: 'found', id: taskId };
    if (history.includes(firstId)) return undefined;
    return { kind: 'unknown', why: `it does not show whether the answer to its task ${taskId} arrived` };
  });
}
