/** True where the tests were asked for every case: `make test-exhaustive`. */
export const EXHAUSTIVE = process.env.EXHAUSTIVE === '1';

/**
 * The cases that a test with very many takes: all in an exhaustive run, else every n-th, from one that changes with each
 * run, so that runs together take all of them. SAMPLE_FROM=<number> takes the sample of an earlier run, which the test
 * names in its output.
 */
export function sample<T>(cases: readonly T[], oneOf: number, say: (line: string) => void): T[] {
  if (EXHAUSTIVE || oneOf === 1) return [...cases];
  const from = Number(process.env.SAMPLE_FROM ?? Math.floor(Math.random() * oneOf)) % oneOf;
  const taken = cases.filter((_, at) => at % oneOf === from);
  say(`${taken.length} of ${cases.length} cases: SAMPLE_FROM=${from}, or EXHAUSTIVE=1 for all`);
  return taken;
}
