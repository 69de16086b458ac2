/** How many of very many cases a test runs: one, or every n-th of them. */
export type Share = 'one' | number;

/**
 * Selects the cases that a test with very many runs, beginning at random, so that several runs together cover all of
 * them. With EXHAUSTIVE=1, a share of every n-th takes all. SAMPLE_FROM=<number> repeats the selection of an earlier
 * run, whose number is printed. Throws if SAMPLE_FROM is not a whole number.
 */
export function sample<T>(
  cases: readonly T[],
  share: Share,
  say: (line: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): T[] {
  const oneOf = share === 'one' ? cases.length : Math.min(share, cases.length);
  if (oneOf <= 1 || (share !== 'one' && env.EXHAUSTIVE === '1')) return [...cases];
  const asked = env.SAMPLE_FROM ?? String(Math.floor(Math.random() * oneOf));
  if (!/^\d{1,9}$/.test(asked)) throw new Error(`SAMPLE_FROM=${asked}: must be a whole number`);
  const from = Number(asked) % oneOf;
  const taken = cases.filter((_, at) => at % oneOf === from);
  const all = share === 'one' ? '' : ', or EXHAUSTIVE=1 for all';
  say(`${taken.length} of ${cases.length} cases: SAMPLE_FROM=${from}${all}`);
  return taken;
}
