/** The nearest-rank quantile of the samples, for a share from 0 to 1; NaN without samples, or if one of them is NaN. */
export function quantile(samples: readonly number[], share: number): number {
  if (samples.some(Number.isNaN)) return Number.NaN;
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** With fewer samples, fewer than ten are slower than the p99, and it is left to chance. */
export const P99_SAMPLES = 1_000;

/** The 99th percentile; NaN with fewer than 1,000 samples. */
export const p99Of = (samples: readonly number[]): number =>
  samples.length < P99_SAMPLES ? Number.NaN : quantile(samples, 0.99);

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** How far rounds differ. 0 for a single round. */
export const quartileDistance = (samples: readonly number[]): number =>
  quantile(samples, 0.75) - quantile(samples, 0.25);

/** The distance of the quartiles, as a share of the median. */
export function spread(samples: readonly number[]): number {
  const width = quartileDistance(samples);
  return width === 0 ? 0 : width / Math.abs(median(samples));
}
