/** A share as a percentage; a dash for one that is not defined. */
export const percent = (value: unknown): string =>
  typeof value === 'number' ? `${(value * 100).toFixed(2)} %` : '-';
