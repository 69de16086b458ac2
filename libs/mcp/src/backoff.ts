const FIRST_MS = 500;
const MAX_MS = 30_000;

/** The wait before the attempt after `failures` failed ones: doubling from 0.5 s to 30 s, the upper half at random. */
export function backoffMs(failures: number, random: () => number): number {
  const ceiling = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 16));
  return Math.round(ceiling * (0.5 + random() / 2));
}
