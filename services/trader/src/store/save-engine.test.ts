import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { BookEntry } from '@hermes-fleet/market';
import { isJsonObject } from '@hermes-fleet/protocol';
import { bar, order, save } from '../../testing/store/book-entries.ts';
import {
  applyOf,
  CONCERN,
  decided,
  failedFrom,
  GRID,
  openSeeded,
  payload,
  switchTo,
  TREND,
} from '../../testing/store/harness.ts';

const deadline = { timeout: 60_000 };
const rowsIn = (file: string): { n: number; entry: string }[] => {
  using db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('SELECT n, entry FROM books WHERE concern_id = ? ORDER BY n').all(CONCERN.id);
  return rows.map(({ n, entry }) => ({ n: Number(n), entry: String(entry) }));
};
const decisionsIn = (file: string): unknown[] =>
  rowsIn(file).map(({ entry }) => JSON.parse(entry).decision_id);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test(
  'a snapshot and its entries are stored together, and the audit has a hash of both',
  deadline,
  async (t) => {
    const opened = await openSeeded(t);
    await save(opened, [order(1, 0), bar(2)], 7);
    const rows = rowsIn(opened.file);
    assert.deepEqual(
      rows.map(({ n, entry }) => [n, JSON.parse(entry).kind]),
      [
        [1, 'order'],
        [2, 'bar'],
      ],
    );
    const [written] = opened.store.audit(1, 1);
    assert.deepEqual(written?.record, {
      at: written?.record['at'],
      concern_id: CONCERN.id,
      kind: 'books',
      snapshot: sha256('{"n":7}'),
      entries: { first: 1, last: 2, hash: sha256(rows.map(({ n, entry }) => `${n} ${entry}\n`).join('')) },
    });
    assert.equal((await opened.store.verify()).ok, true);
  },
);

test(
  'entries that are stored already are left out, and a save without entries has a record too',
  deadline,
  async (t) => {
    const opened = await openSeeded(t);
    await save(opened, [bar(1), bar(2)]);
    await save(opened, [bar(1), bar(2), bar(5)]);
    await save(opened, []);
    assert.deepEqual(
      rowsIn(opened.file).map(({ n }) => n),
      [1, 2, 5],
    );
    const entries = opened.store.audit(1, 10).map(({ record }) => record['entries']);
    assert.deepEqual(
      entries.map((each) => (isJsonObject(each) ? [each['first'], each['last']] : each)),
      [[1, 2], [5, 5], null],
    );
  },
);

test(
  'an entry names the decision that its revision came from, and none that was rolled back',
  deadline,
  async (t) => {
    const opened = await openSeeded(t);
    const { store, file } = opened;
    const first = switchTo(TREND);
    await decided(store, first);
    const before = store.concern(CONCERN.id);
    assert.ok(before);
    const failed = await decided(store, payload());
    await store.compensate(applyOf(failed), before, failedFrom(failed.verdict.response));
    const third = payload();
    await decided(store, third);
    await save(opened, [
      bar(1, 0),
      bar(2, 1),
      bar(3, 3),
      bar(4, 4),
      { ...bar(5), rev: undefined } as BookEntry,
    ]);
    const { decision_id: one } = first;
    assert.deepEqual(decisionsIn(file), [null, one, one, third['decision_id'], null]);
  },
);

test('what happens to orders is an event each, and the equity one a minute', deadline, async (t) => {
  const opened = await openSeeded(t);
  const decision = payload();
  await decided(opened.store, decision);
  const before = opened.store.outbox.read(0, 100).length;
  await save(opened, [order(1, 1), bar(2), bar(3), order(4, 1, 'canceled')]);
  await save(opened, [bar(5)]);
  opened.clock.advance(60_000);
  await save(opened, [bar(6)]);
  const events = opened.store.outbox.read(0, 100).slice(before);
  assert.deepEqual(
    events.map(({ subject, event }) => [subject, event.type, event.subject, event.data['entry']]),
    [
      ['placed', 'order-1', 1],
      ['equity', CONCERN.id, 3],
      ['canceled', 'order-4', 4],
      ['equity', CONCERN.id, 6],
    ].map(([type, subject, n]) => [
      'fleet.trade.qndd8o9ppop6.xrpusd',
      `dev.hermes-fleet.trade.${type}.v1`,
      subject,
      n,
    ]),
  );
  const [placed, equity] = events.map(({ event }) => event.data);
  assert.deepEqual(
    [placed?.['decision_id'], equity?.['equity'], equity?.['close'], equity?.['strategy_id']],
    [decision['decision_id'], '20', '2', GRID],
  );
  const saved = opened.store.audit(0, 100).filter(({ record }) => record['kind'] === 'books');
  assert.equal(placed?.['audit_seq'], saved[0]?.seq);
});

test('stored entries cannot be changed, removed, or added before others', deadline, async (t) => {
  const opened = await openSeeded(t);
  await save(opened, [bar(3)]);
  using db = new DatabaseSync(opened.file, { timeout: 2_000 });
  for (const [change, why] of [
    [`UPDATE books SET entry = '{}'`, /cannot be changed/],
    ['DELETE FROM books', /cannot be removed/],
    [`INSERT INTO books VALUES ('${CONCERN.id}', 2, '{}')`, /are added at the end/],
    [`INSERT OR REPLACE INTO books VALUES ('${CONCERN.id}', 3, '{}')`, /are added at the end/],
  ] as const)
    assert.throws(() => db.exec(change), why);
});
