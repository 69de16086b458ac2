import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest run of one kind of character that is tokenized as a whole, in UTF-16 code units. */
const MAX_RUN = 256;
/** The amount of text that is tokenized before the event loop runs, in UTF-16 code units. */
const MAX_CHUNK = 65_536;

const RUNS = new RegExp(`[\\p{L}\\p{M}]{1,${MAX_RUN}}|[^\\p{L}\\p{N}]{1,${MAX_RUN}}|\\p{N}{1,255}`, 'gu');

/**
 * The number of o200k_base tokens in a text. Exact for ordinary text up to 64 k characters; about one token too high
 * for each further 64 k and for each unbroken run of 256 letters or symbols. Special tokens count as plain text. Loads
 * the tokenizer (about 74 MB) on first use, and yields to the event loop during long texts.
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

/** Chunks of bounded cost: the tokenizer's time is quadratic in the length of an unbroken run. */
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
