/** A text without spaces has words too: this many characters count as one at most. */
const CHARS_PER_WORD = 12;

/** The words of a text, on the safe side. */
export function countWords(text: string): number {
  let words = 0;
  for (const _word of text.matchAll(/\S+/g)) words += 1;
  return Math.max(words, Math.ceil(text.length / CHARS_PER_WORD));
}

/** The beginning of a text, of at most this many words; the text itself where it has no more. */
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
