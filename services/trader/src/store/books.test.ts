import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONCERN, openSeeded } from '../../testing/store/harness.ts';

const deadline = { timeout: 60_000 };
const [SMALL, LARGE] = [1_000, 100_000];

/** The shortest of several runs, ms: the others waited for the machine. */
function shortest(work: () => void): number {
  const times = Array.from({ length: 7 }, () => {
    const began = performance.now();
    work();
    return performance.now() - began;
  });
  return Math.min(...times);
}

test('reading orders takes the same time in books that are a hundred times as long', deadline, async (t) => {
  const opened = await openSeeded(t);
  const { books } = opened.store;
  /** Bars up to an entry, with an order in every hundred of the first thousand. */
  const fill = (from: number, to: number): void =>
    opened.tamper((db) => {
      db.exec('BEGIN');
      const insert = db.prepare('INSERT INTO books VALUES (?, ?, ?)');
      for (let n = from; n <= to; n += 1) {
        const kind = n <= SMALL && n % 100 === 0 ? 'order' : 'bar';
        const entry = { kind, event: kind === 'order' ? 'filled' : null, close: '1.5', equity: '10000' };
        insert.run(CONCERN.id, n, JSON.stringify({ ...entry, recorded_at: new Date(n).toISOString() }));
      }
      db.exec('COMMIT');
    });
  const query = { concernId: CONCERN.id, order: 'newest', limit: 100 } as const;
  const reads = {
    orders: () => assert.equal(books.orders({ ...query, kind: 'orders' }).length, 10),
    fills: () => assert.equal(books.orders({ ...query, kind: 'fills', from: 0, to: LARGE * 2 }).length, 10),
    equity: () => assert.equal(books.bars({ concernId: CONCERN.id }, 1).length, 1),
  };
  fill(1, SMALL);
  const before = Object.values(reads).map(shortest);
  fill(SMALL + 1, LARGE);
  const after = Object.values(reads).map(shortest);
  for (const [at, name] of Object.keys(reads).entries()) {
    const factor = (after[at] ?? 0) / (before[at] ?? 0);
    assert.ok(factor < 10, `${name}: ${factor.toFixed(1)} times as long`);
  }
});
