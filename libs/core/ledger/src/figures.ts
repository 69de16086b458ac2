import { type Count, LEDGER_COUNTERS, type TokenEntry } from '@hermes-fleet/protocol/ports';
import { integer, oneOf, openReader, type Queries, type Row, type Store, text } from '@hermes-fleet/store';
import type { Booking, DaySpending, Figures, FiguresListener } from './figure-types.ts';
import { findKeptCheckpoints } from './late-results.ts';
import { KINDS, tokenEntry } from './rows.ts';
import { LEDGER } from './schema.ts';
import { latestDay, spendingDay, utcDay } from './spending-days.ts';
import { findTask, unfinishedTasks } from './task-rows.ts';
import type { Scope } from './task-writes.ts';
import type { Ledger } from './types.ts';

/** The tier of tokens that no tier was named for. */
const NO_TIER = 'none';

/** The additions of one transaction to the figures. */
export interface Recorded {
  readonly counts: readonly Count[];
  readonly bookings: readonly Booking[];
}

export function createFigures(store: Pick<Store, 'read'>) {
  const listeners: FiguresListener[] = [];
  /** Undefined until it is asked for, and after a change. */
  let latest: { readonly day: string | undefined } | undefined;
  return {
    totals: () => store.read((db) => db.all('SELECT * FROM totals').map(total)),
    latestDay(): string | undefined {
      latest ??= { day: store.read(latestDay) };
      return latest.day;
    },
    spentOn: (day: string): DaySpending[] =>
      store.read((db) => db.all('SELECT * FROM spending WHERE day = ?', day).map(daySpending)),
    spentBy: (taskId: string) => store.read((db) => spentBy(db, taskId)),
    follow: (listener: FiguresListener): void => void listeners.push(listener),
    /** Must be called after days were removed. */
    removedDays(): void {
      latest = undefined;
    },
    /** Tells the listeners what a committed transaction recorded. */
    announce({ counts, bookings }: Recorded, endedTask?: string): void {
      if (bookings.some(({ day }) => day.day !== latest?.day)) latest = undefined;
      for (const { counted, booked, ended } of listeners) {
        if (counts.length > 0) counted?.(counts);
        for (const booking of bookings) booked?.(booking);
        if (endedTask !== undefined) ended?.(endedTask);
      }
    },
  };
}

function spentBy(db: Queries, taskId: string): Pick<DaySpending, 'tokens' | 'cacheTokens'> {
  const sum = db.get(
    `SELECT coalesce(sum(input_tokens + output_tokens), 0) AS tokens,
       coalesce(sum(cache_read_tokens + cache_write_tokens), 0) AS cache_tokens
     FROM tokens WHERE task = (SELECT n FROM tasks WHERE id = ?) AND settled <> 0`,
    taskId,
  );
  return sum ? { tokens: integer(sum, 'tokens'), cacheTokens: integer(sum, 'cache_tokens') } : NOTHING_SPENT;
}

const NOTHING_SPENT = { tokens: 0, cacheTokens: 0 };

/** The columns of a row of `tokens` that `book` reads. */
export const BOOKED = `*, (SELECT id FROM tasks WHERE tasks.n = tokens.task) AS task_id,
  (SELECT caller FROM tasks WHERE tasks.n = tokens.task) AS caller`;

/**
 * Adds spent tokens to the day and to the totals, which count a profile's own tokens only. `row` is one of `tokens`, with
 * the columns BOOKED.
 */
export function book(db: Queries, { clock, sums }: Scope, row: Row): Recorded {
  const taskId = text(row, 'task_id');
  const caller = text(row, 'caller');
  const entry = tokenEntry(row);
  const tokens = entry.inputTokens + entry.outputTokens;
  const cacheTokens = entry.cacheReadTokens + entry.cacheWriteTokens;
  const day = db.get(
    `INSERT INTO spending (day, caller, kind, tokens, cache_tokens) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens, cache_tokens = cache_tokens + excluded.cache_tokens
     RETURNING *`,
    spendingDay(utcDay(clock.now()), latestDay(db)),
    caller,
    entry.kind,
    tokens,
    cacheTokens,
  );
  const counts = spentCounts(entry, caller, row.tier === null ? NO_TIER : text(row, 'tier'));
  sums.count(counts);
  return { counts, bookings: [{ taskId, tokens, cacheTokens, day: daySpending(day ?? {}) }] };
}

/** Closes the reservations that an ended task left open: their estimates count as spent from now on. */
export function closeReservations(db: Queries, scope: Scope, n: number): Recorded {
  const closed = db.all(
    `UPDATE tokens SET settled = ${CLOSED}, source = 'estimated' WHERE task = ? AND settled = 0 RETURNING ${BOOKED}`,
    n,
  );
  return together(closed.map((row) => book(db, scope, row)));
}

export const together = (all: readonly Recorded[]): Recorded => ({
  counts: all.flatMap(({ counts }) => counts),
  bookings: all.flatMap(({ bookings }) => bookings),
});

export const NOTHING: Recorded = { counts: [], bookings: [] };

/** The value of `settled` for a reservation that the end of its task closed. */
export const CLOSED = 2;

function spentCounts(entry: TokenEntry, caller: string, tier: string): Count[] {
  if (entry.kind !== 'own') return [];
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = entry;
  const counts: Count[] = [
    { counter: 'tokens_spent', labels: [caller, tier, 'input'], by: inputTokens },
    { counter: 'tokens_spent', labels: [caller, tier, 'output'], by: outputTokens },
    { counter: 'tokens_cached', labels: [], by: cacheReadTokens + cacheWriteTokens },
  ];
  return counts.filter(({ by }) => by > 0);
}

function total(row: Row): Count {
  const labels: unknown = JSON.parse(text(row, 'labels'));
  return {
    counter: oneOf(row, 'counter', LEDGER_COUNTERS),
    labels: Array.isArray(labels) ? labels.map(String) : [],
    by: integer(row, 'value'),
  };
}

function daySpending(row: Row): DaySpending {
  return {
    day: text(row, 'day'),
    caller: text(row, 'caller'),
    kind: oneOf(row, 'kind', KINDS),
    tokens: integer(row, 'tokens'),
    cacheTokens: integer(row, 'cache_tokens'),
  };
}

/** The figures of a ledger that another process may own. */
interface FiguresReader extends Pick<Ledger, 'unfinished' | 'keptCheckpoints' | 'get'> {
  readonly figures: Pick<Figures, 'latestDay' | 'spentOn' | 'spentBy'>;
  close(): void;
}

/** Opens a ledger to read its figures; neither creates, migrates nor owns it. Throws as `openReader` does. */
export function openFigures(file: string): FiguresReader {
  const reader = openReader(file, LEDGER);
  return {
    figures: createFigures(reader),
    unfinished: () => reader.read(unfinishedTasks).map(({ record }) => record),
    keptCheckpoints: () => reader.read(findKeptCheckpoints),
    get: (taskId) => reader.read((db) => findTask(db, taskId)?.record),
    close: reader.close,
  };
}
