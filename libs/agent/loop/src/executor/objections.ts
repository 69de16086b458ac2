import { effectsOf } from '../guards/commands/effects.ts';
import { isWrite } from '../guards/verification.ts';
import { readFinalMessage } from '../messages/final-message.ts';
import type { JournalEntry, RunState } from '../run/run-state.ts';

/**
 * The objections of a review that were not worked on: no file was changed since, and the last message does not take them
 * up. Whether a change or a reason answers one is not judged.
 */
export function ignoredObjections(
  review: RunState['review'],
  journal: readonly JournalEntry[],
  message: string,
): readonly string[] {
  if (review?.state !== 'closed' || review.verdict !== 'objections') return [];
  const { objections = [], journal: length = 0 } = review;
  if (journal.slice(length).some(isWork)) return [];
  const { text } = readFinalMessage(message);
  return objections.filter((objection) => !takesUp(text, objection));
}

/** The agent's notes are no work. */
const NOTES = /^(?:\.\/)?(?:\.scratch\/|PROGRESS\.json$)/;

/** True if a call changed a file, as far as its input shows. */
function isWork(entry: JournalEntry): boolean {
  const { ok, tool, detail = '' } = entry;
  if (isWrite(entry)) return !NOTES.test(detail);
  return ok && tool === 'shell_exec' && effectsOf(detail).some(({ kind }) => kind !== 'check');
}

const MIN_SHARED = 2;
const MAX_SHARED = 4;

/** True if a text shares a third of an objection's words: at least two, at most four. Names count only without others. */
function takesUp(text: string, objection: string): boolean {
  const plain = wordsOf(objection).filter(isPlain);
  const subject = new Set((plain.length < MIN_SHARED ? wordsOf(objection) : plain).map(stem));
  if (subject.size === 0) return text !== '';
  const said = new Set(wordsOf(text).map(stem));
  const shared = [...subject].filter((word) => said.has(word)).length;
  const third = Math.ceil(subject.size / 3);
  return shared >= Math.min(subject.size, MAX_SHARED, Math.max(MIN_SHARED, third));
}

const COMMON = new Set(
  (
    'that this with have from does file files should when there which would could must into only also been were will what ' +
    'than then them they their done some more other because about still says said task objection objections review'
  ).split(' '),
);

/** The words, names and paths of a text that name a subject. */
const wordsOf = (text: string): string[] =>
  (text.match(/[\p{L}\p{N}_](?:[./]?[\p{L}\p{N}_])*/gu) ?? []).filter(
    (word) => word.length >= 4 && !COMMON.has(word.toLowerCase()),
  );

/** False for paths and for names such as `parseLine`, `MAX_LINES` and `a.txt`. */
const isPlain = (word: string): boolean => /^\p{Lu}?\p{Ll}+$/u.test(word);

const stem = (word: string): string => word.toLowerCase().replace(/(?<=\p{L}{3})(?:ing|ed|es|s)$/u, '');
