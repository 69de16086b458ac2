import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest run of one kind of character that is tokenized whole. */
const MAX_RUN = 256;
/** How much is tokenized before the event loop gets its turn. Both in UTF-16 units. */
const MAX_CHUNK = 65_536;

const RUNS = new RegExp(`[\\p{L}\\p{M}]{1,${MAX_RUN}}|[^\\p{L}\\p{N}]{1,${MAX_RUN}}|\\p{N}{1,255}`, 'gu');

/**
 * The number of o200k_base tokens in a text: exact for ordinary text up to 64 k characters, about one token too high
 * for each further 64 k and for each run of 256 letters or signs without a break. Special tokens count as plain text.
 * The tokenizer (some 74 MB) is loaded on first use; long texts give way to other work in between.
 */
export async function countTokens(text: string): Promise<number> {
  const { countTokens: count } = await import('gpt-tokenizer/encoding/o200k_base');
  const options = { disallowedSpecial: new Set<string>() };
  let tokens = 0;
  let sinceTurn = 0;
  for (const chunk of chunks(text)) {
    if (sinceTurn >= MAX_CHUNK) {
      await nextTurn();
      sinceTurn = 0;
    }
    tokens += count(chunk, options);
    sinceTurn += chunk.length;
  }
  return tokens;
}

/** Pieces of bounded cost: the tokenizer's time grows with the square of the length of an unbroken run. */
function* chunks(text: string): Generator<string> {
  let start = 0;
  for (const { 0: run, index } of text.matchAll(RUNS)) {
    const end = index + run.length;
    if (run.length < MAX_RUN && end - start < MAX_CHUNK) continue;
    yield text.slice(start, end);
    start = end;
  }
  if (start < text.length) yield text.slice(start);
}
