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
