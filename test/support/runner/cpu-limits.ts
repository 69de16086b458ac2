import { REFERENCE_CPU_S } from './reference.ts';
import type { FileResult } from './run-file.ts';
import { fastLimitOf, SHARED, tierOf } from './test-files.ts';

/** CPU seconds that all files of `make test` may use together. */
const FAST_SUM_CPU_S = 1_000;
const NAMED = 10;
/** The CPU time of one file differs by up to a quarter between two runs. */
const NOISE = 1.25;

/** The cost of the reference work beside what it costs on an ordinary machine, at least 1: what limits are multiplied by. */
export function scaleOf(references: readonly number[]): number {
  const sorted = references.toSorted((a, b) => a - b);
  return Math.max(1, (sorted[Math.floor(sorted.length / 2)] ?? REFERENCE_CPU_S) / REFERENCE_CPU_S);
}

/** A line for each limit of CPU time that fast files passed, which says what to do; limits are multiplied by the scale. */
export function overLimits(results: readonly FileResult[], scale: number): string[] {
  const fast = results.filter(({ file }) => tierOf(file) === 'fast');
  const expensive = fast.toSorted((a, b) => (b.cpuS ?? 0) - (a.cpuS ?? 0));
  const files = expensive
    .filter(({ file, cpuS = 0 }) => cpuS > fastLimitOf(file) * scale * NOISE)
    .map(
      ({ file, cpuS = 0 }) =>
        `${file} used ${inSeconds(cpuS, fastLimitOf(file), scale)}: ` +
        (file in SHARED
          ? 'make it cheaper, or leave a part of it to a slow file'
          : `make it cheaper, or rename it to ${file.replace(/\.test\.ts$/, '.slow.test.ts')}`),
    );
  const sum = fast.reduce((total, { cpuS = 0 }) => total + cpuS, 0);
  if (sum <= FAST_SUM_CPU_S * scale) return files;
  return [
    ...files,
    `the files of make test used ${inSeconds(sum, FAST_SUM_CPU_S, scale)}: make the most expensive cheaper, or rename them to ` +
      `.slow.test.ts: ${expensive
        .slice(0, NAMED)
        .map(({ file }) => file)
        .join(', ')}`,
  ];
}

const inSeconds = (cpuS: number, limit: number, scale: number): string =>
  `${cpuS.toFixed(1)} CPU seconds, more than ${(limit * scale).toFixed(1)} (${limit} on an ordinary machine)`;
