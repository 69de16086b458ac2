/** The nearest-rank quantile of the samples, for a share from 0 to 1; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** The distance of the quartiles, as a share of the median: how far rounds differ. 0 for a single round. */
export function spread(samples: readonly number[]): number {
  const width = quantile(samples, 0.75) - quantile(samples, 0.25);
  return width === 0 ? 0 : width / Math.abs(median(samples));
}
