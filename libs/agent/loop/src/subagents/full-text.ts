import type { ToolContext } from '../run/conversation.ts';
import { openScratchpad, scratchDir } from '../tools/scratchpad.ts';

/** Stores the full text of an answer in the task's scratchpad. Returns its path, or undefined if that fails. */
export async function keepFullText(options: {
  readonly text: string;
  readonly agent: string;
  readonly call: Pick<ToolContext, 'task' | 'files' | 'key' | 'signal'>;
}): Promise<string | undefined> {
  const { task, files, key, signal } = options.call;
  const name = `${options.agent}-${key}`.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 90);
  try {
    await using folder = await openScratchpad(files, task, true);
    if (folder === undefined) return undefined;
    await folder.write(`${name}.md`, Buffer.from(options.text));
    return `${scratchDir(task)}/${name}.md`;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Cuts an answer to `maxWords` and adds a pointer to the full text. */
export function cutAnswer(text: string, maxWords: number, full: string | undefined): string {
  const where = full === undefined ? 'the full text could not be kept' : `the full text is in ${full}`;
  return `${firstWords(text, maxWords)}…\n[cut at ${maxWords} words; ${where}]`;
}

/** Maximum characters counted as one word, so that a text without spaces is not one word. */
const CHARS_PER_WORD = 12;

/** Counts the words of a text; rather too many than too few. */
export function countWords(text: string): number {
  let words = 0;
  for (const _word of text.matchAll(/\S+/g)) words += 1;
  return Math.max(words, Math.ceil(text.length / CHARS_PER_WORD));
}

/** The first `maxWords` words of a text. */
export function firstWords(text: string, maxWords: number): string {
  if (countWords(text) <= maxWords) return text;
  let words = 0;
  let end = 0;
  for (const { 0: word, index } of text.matchAll(/\S+/g)) {
    words += 1;
    if (words > maxWords || index + word.length > maxWords * CHARS_PER_WORD) break;
    end = index + word.length;
  }
  return text.slice(0, end === 0 ? maxWords * CHARS_PER_WORD : end).toWellFormed();
}
