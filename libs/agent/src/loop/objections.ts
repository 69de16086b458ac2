import { onlyLooks } from '../guards/commands/looks.ts';
import { isWrite } from '../guards/evidence.ts';
import { readFinalMessage } from '../messages/final-message.ts';
import type { JournalEntry, RunState } from '../run/run-state.ts';

/** Words of at least so many characters name a subject. */
const WORD = /[\p{L}\p{N}_./-]{4,}/gu;

/**
 * The objections of a review that were not worked on: since they were handed back, nothing was changed, and the last message
 * does not mention them. A reason in words is enough, because a review may be wrong.
 */
export function ignoredObjections(
  review: RunState['review'],
  journal: readonly JournalEntry[],
  message: string,
): readonly string[] {
  if (review?.state !== 'closed' || review.verdict !== 'objections') return [];
  const { objections = [], journal: length = 0 } = review;
  if (journal.slice(length).some(isWork)) return [];
  const said = wordsOf(readFinalMessage(message).text);
  return objections.filter((objection) => {
    const words = wordsOf(objection);
    return words.size === 0 ? said.size === 0 : ![...words].some((word) => said.has(word));
  });
}

const isWork = (entry: JournalEntry): boolean =>
  isWrite(entry) || (entry.ok && entry.tool === 'shell_exec' && !onlyLooks(entry.detail ?? ''));

const COMMON = new Set(
  (
    'that this with have from does file files should when there which would could must into only also been were will what ' +
    'than then them they their done some more other because about still says task'
  ).split(' '),
);

const wordsOf = (text: string): Set<string> =>
  new Set((text.toLowerCase().match(WORD) ?? []).filter((word) => !COMMON.has(word)));
