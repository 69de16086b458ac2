import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import type { StoredEntry } from '../control/control-store.ts';
import { createBookKeeper } from './book-keeper.ts';
import { inOrder } from './in-order.ts';

/** Books whose entries have these times of recording, in s. */
const booksOf = (concerns: Readonly<Record<string, readonly number[]>>) => ({
  after: (concernId: string, n: number, limit: number): StoredEntry[] =>
    (concerns[concernId] ?? [])
      .map((s, at) => ({ n: at + 1, entry: { recorded_at: new Date(s * 1_000).toISOString() } }))
      .filter((entry) => entry.n > n)
      .slice(0, limit),
});

test('entries of several concerns come in the order of their recording, and each after its number', () => {
  const books = booksOf({ a: [1, 4, 4, 9], b: [2, 3, 5], c: [] });
  const read = [...inOrder(books, new Map(Object.entries({ a: 1, b: 0, c: 0 })))];
  assert.deepEqual(
    read.map(({ concernId, entry }) => `${concernId}${entry.n}`),
    ['b1', 'b2', 'a2', 'a3', 'b3', 'a4'],
  );
});

test('no entry is left out where slices end', () => {
  const times = Array.from({ length: 1_000 }, (_, at) => at);
  const books = booksOf({ a: times, b: times.slice(0, 400) });
  const read = [...inOrder(books, new Map(Object.entries({ a: 0, b: 0 })))];
  const of = (id: string): number[] =>
    read.filter((each) => each.concernId === id).map((each) => each.entry.n);
  assert.deepEqual(
    of('a'),
    times.map((at) => at + 1),
  );
  assert.deepEqual(
    of('b'),
    times.slice(0, 400).map((at) => at + 1),
  );
});

test('a keeper that starts reads the bars of all concerns in the order of their recording', async () => {
  const bar = { kind: 'bar', strategy_id: null, decision_id: null, close: '1', position: '0', equity: '1' };
  const { after } = booksOf({ a: [1, 4], b: [2, 3, 5] });
  const books = {
    after: (...asked: Parameters<typeof after>) =>
      after(...asked).map(({ n, entry }) => ({ n, entry: { ...bar, at: '2026-04-16T20:15:00Z', ...entry } })),
  };
  const bars: string[] = [];
  const keeper = createBookKeeper({
    books,
    concerns: ['a', 'b'].map((id) => ({ id, intervalMs: 1_000 })),
    clock: manualClock(),
    log: silentLog,
    onBar: (concernId, { recordedAt }) => bars.push(`${concernId} ${recordedAt / 1_000}`),
  });
  const read = Promise.withResolvers<void>();
  keeper.start(read.resolve);
  await read.promise;
  await keeper.close();
  assert.deepEqual(bars, ['a 1', 'b 2', 'b 3', 'a 4', 'b 5']);
});
