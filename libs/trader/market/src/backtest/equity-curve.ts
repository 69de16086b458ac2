import type { Decimal } from 'decimal.js';

export interface EquityPoint {
  /** Closing time of the bar, ms since the epoch. */
  readonly at: number;
  readonly equity: Decimal;
  readonly close: Decimal;
}

/** Most points of a curve. */
const MOST = 500;

/** Thins a curve of any length to points at equal numbers of bars, and the last one, in constant memory. */
export function createEquityCurve() {
  let kept: EquityPoint[] = [];
  let last: EquityPoint | undefined;
  /** Bars between two points. */
  let stride = 1;
  let count = 0;
  return {
    add: (point: EquityPoint): void => {
      if (count % stride === 0) {
        // One place is left for the last point.
        if (kept.length === MOST - 1) {
          kept = kept.filter((_, n) => n % 2 === 0);
          stride *= 2;
        }
        if (count % stride === 0) kept.push(point);
      }
      last = point;
      count += 1;
    },
    /** Oldest first. */
    points: (): readonly EquityPoint[] =>
      last === undefined || kept.at(-1) === last ? kept : [...kept, last],
  };
}
