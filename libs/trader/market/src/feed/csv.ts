import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { money } from '../terms/money.ts';
import type { Bar, Feed } from '../terms/strategy.ts';
import { type CsvRow, readCsvRows } from './csv-rows.ts';
import { floorToStep, sleepUntil } from './pace.ts';

/** Largest CSV file, about 100,000 bars. */
export const MAX_CSV_BYTES = 8_000_000;

/** Largest CSV file of a backtest, about half a million bars. */
const MAX_BACKTEST_BYTES = 40_000_000;
const MAX_BACKTEST_LINES = 500_001;

/** The bars of a CSV file, which can be read any number of times. */
export interface CsvBars extends Iterable<Bar> {
  readonly count: number;
  /** The number of bars that have closed at a time. */
  closedAt(ms: number): number;
}

/**
 * The bars of a CSV file for a backtest, which may be larger than that of a feed. Reads the file at once; a bar becomes
 * decimals when it is taken. Throws CONFIG_INVALID as `createCsvFeed`.
 */
export function readBars(file: string): CsvBars {
  const rows = readCsvRows(basename(file), readTextFile(file, MAX_BACKTEST_BYTES), MAX_BACKTEST_LINES);
  return {
    count: rows.length,
    closedAt: (ms) => countUntil(rows, ms),
    *[Symbol.iterator]() {
      for (const row of rows) yield barOf(row);
    },
  };
}

/**
 * Plays the bars of a CSV file from the first bar after `last` to the end of the file, one at each multiple of
 * `intervalMs` on the clock, regardless of the bars' times. Reads the file at once and throws CONFIG_INVALID if it is
 * not valid.
 */
export function createCsvFeed(
  options: { readonly file: string; readonly intervalMs: number },
  clock: Clock,
): Feed {
  const rows = readCsvRows(basename(options.file), readTextFile(options.file, MAX_CSV_BYTES));
  let asked: { readonly after: number | undefined; readonly dueAt: number } | undefined;
  return {
    intervalMs: options.intervalMs,
    spacingMs: meanSpacing(rows) ?? options.intervalMs,
    next: async (last, signal) => {
      signal.throwIfAborted();
      if (asked === undefined || asked.after !== last?.at) {
        const dueAt =
          asked === undefined
            ? clock.now()
            : floorToStep(clock.now(), options.intervalMs) + options.intervalMs;
        asked = { after: last?.at, dueAt };
      }
      const row = last === undefined ? rows[0] : rows[countUntil(rows, last.at)];
      if (row === undefined) return undefined;
      await sleepUntil(clock, { at: asked.dueAt, stepMs: options.intervalMs }, signal);
      return barOf(row);
    },
  };
}

/** Mean time between two rows, ms; undefined for fewer than two. */
function meanSpacing(rows: readonly CsvRow[]): number | undefined {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined || rows.length < 2) return undefined;
  return (last.at - first.at) / (rows.length - 1);
}

/** The number of rows that close at `at` or before it. */
function countUntil(rows: readonly CsvRow[], at: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

const barOf = ({ at, open, high, low, close, volume }: CsvRow): Bar => ({
  at,
  open: money(open),
  high: money(high),
  low: money(low),
  close: money(close),
  volume: money(volume),
});

/** The text of a file. Throws CONFIG_INVALID for one that is larger, cannot be read, or is not UTF-8. */
export function readTextFile(file: string, maxBytes: number): string {
  const bad = (reason: string, cause?: unknown): FleetError =>
    new FleetError('CONFIG_INVALID', `${file} ${reason}`, {
      cause,
      fields: [{ path: basename(file), reason }],
    });
  try {
    const stat = statSync(file);
    if (!stat.isFile()) throw bad('is not a file; name the file itself');
    if (stat.size > maxBytes) throw bad(`is larger than ${maxBytes} bytes; shorten it`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (thrown) {
    if (thrown instanceof FleetError) throw thrown;
    if (thrown instanceof TypeError) throw bad('is not UTF-8 text; save it as UTF-8', thrown);
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : 'unknown';
    throw bad(`cannot be read (${code}); check its path and permissions`, thrown);
  }
}
