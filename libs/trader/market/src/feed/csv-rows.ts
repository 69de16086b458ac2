import { type FieldError, FleetError } from '@hermes-fleet/protocol';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { money } from '../terms/money.ts';

/** A validated row of a CSV file. Numbers stay text, which takes less memory than decimals. */
export interface CsvRow {
  /** Ms since the epoch. */
  readonly at: number;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
  readonly volume: string;
}

const COLUMNS = ['time', 'open', 'high', 'low', 'close', 'volume'];
const MAX_PROBLEMS = 50;
/** As many bars fit into a file of `MAX_CSV_BYTES`. Bounds memory, since a parsed line is far larger than its text. */
const MAX_LINES = 300_000;
const MAX_LINE_CHARS = 1_000;

const decimal = z
  .string()
  .regex(/^\d{1,15}(\.\d{1,12})?$/, { error: 'must be a decimal such as 0.25', abort: true });
const price = decimal.refine((text) => /[1-9]/.test(text), { error: 'must be above 0', abort: true });
const Row = z
  .strictObject({
    time: z.iso.datetime({ offset: true, error: 'must be a time such as 2026-04-16T20:15:00Z' }),
    open: price,
    high: price,
    low: price,
    close: price,
    volume: decimal,
  })
  .refine(({ open, high, low, close }) => [open, low, close].every((other) => isAtLeast(high, other)), {
    path: ['high'],
    error: 'must not be below another price of the row',
  })
  .refine(({ open, low, close }) => [open, close].every((other) => isAtLeast(other, low)), {
    path: ['low'],
    error: 'must not be above another price of the row',
  });

/** Compares decimals exactly. Floats settle most cases, since rounding to a float keeps the order. */
const isAtLeast = (a: string, b: string): boolean =>
  a === b || Number(a) > Number(b) || money(a).gte(money(b));

/**
 * Parses CSV text with the columns time,open,high,low,close,volume. Times are RFC 3339 and strictly increasing, numbers
 * are decimals, and each row's prices lie between its low and its high. Throws CONFIG_INVALID that lists the first 50
 * malformed rows as `name:line`, and for a text of more than `maxLines` lines.
 */
export function readCsvRows(name: string, text: string, maxLines = MAX_LINES): CsvRow[] {
  const problems: FieldError[] = [];
  const rows: CsvRow[] = [];
  let head: string | undefined;
  const wrong = (line: number, reason: string): void => {
    problems.push({ path: `${name}:${line}`, reason });
  };
  forEachRecord(name, text, maxLines, (record, line) => {
    if (head === undefined) {
      head = record.join();
      return;
    }
    if (record.length !== COLUMNS.length) {
      wrong(line, `has ${record.length} columns instead of ${COLUMNS.length}`);
      return;
    }
    const row = Row.safeParse(Object.fromEntries(COLUMNS.map((column, i) => [column, record[i]])));
    if (!row.success) {
      for (const { path, message } of row.error.issues) wrong(line, `${path.join()} ${message}`);
      return;
    }
    const { time, ...cells } = row.data;
    const closedAt = Date.parse(time);
    const before = rows.at(-1);
    if (before !== undefined && closedAt <= before.at) wrong(line, 'time must be after the one before');
    rows.push({ at: closedAt, ...cells });
  });
  if (head !== COLUMNS.join()) throw invalid(name, [at(name, 1, `must be ${COLUMNS.join()}`)]);
  if (problems.length > 0) throw invalid(name, problems);
  if (rows.length === 0) throw invalid(name, [at(name, 1, 'is the only line: add rows')]);
  return rows;
}

/** Takes one record after the other: all at once would take several times the memory of the rows. */
function forEachRecord(
  name: string,
  text: string,
  maxLines: number,
  takeRecord: (record: readonly string[], line: number) => void,
): void {
  if (hasMoreLines(text, maxLines))
    throw invalid(name, [at(name, maxLines, 'must be the last line: cut the file, or use longer bars')]);
  try {
    parse(text, {
      bom: true,
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: MAX_LINE_CHARS,
      on_record: (record, { lines }) => {
        takeRecord(record, lines);
        return null;
      },
    });
  } catch (thrown) {
    if (!(thrown instanceof CsvError)) throw thrown;
    const line = 'lines' in thrown && typeof thrown['lines'] === 'number' ? thrown['lines'] : 1;
    throw invalid(name, [at(name, line, `is not valid CSV: ${thrown.message}`)]);
  }
}

function hasMoreLines(text: string, most: number): boolean {
  const ends = text.matchAll(/\r\n?|\n/g);
  return !ends.drop(most).next().done;
}

const at = (name: string, line: number, reason: string): FieldError => ({ path: `${name}:${line}`, reason });

function invalid(name: string, problems: readonly FieldError[]): FleetError {
  const [first] = problems;
  const fields = listedProblems(problems, name, 'rows are malformed');
  return new FleetError('CONFIG_INVALID', `${first?.path} ${first?.reason}`, { fields });
}

/** The first 50 problems of a file, and how many more there are. */
export const listedProblems = (problems: readonly FieldError[], path: string, what: string): FieldError[] => {
  const more = problems.length - MAX_PROBLEMS;
  return [
    ...problems.slice(0, MAX_PROBLEMS),
    ...(more > 0 ? [{ path, reason: `${more} more ${what}` }] : []),
  ];
};
