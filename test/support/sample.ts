/** True where the tests were asked for every case: `make test-exhaustive`. */
export const EXHAUSTIVE = process.env.EXHAUSTIVE === '1';

/**
 * Selects the cases that a test with very many runs: all in an exhaustive run, else every n-th, beginning at random, so
 * that several runs together cover all of them. SAMPLE_FROM=<number> repeats the sample of an earlier run, whose number
 * the test prints. Throws if SAMPLE_FROM is not a whole number.
 */
export function sample<T>(cases: readonly T[], oneOf: number, say: (line: string) => void): T[] {
  if (EXHAUSTIVE || oneOf === 1) return [...cases];
  const asked = process.env.SAMPLE_FROM ?? String(Math.floor(Math.random() * oneOf));
  if (!/^\d{1,9}$/.test(asked)) throw new Error(`SAMPLE_FROM=${asked}: must be a whole number`);
  const from = Number(asked) % oneOf;
  const taken = cases.filter((_, at) => at % oneOf === from);
  say(`${taken.length} of ${cases.length} cases: SAMPLE_FROM=${from}, or EXHAUSTIVE=1 for all`);
  return taken;
}
