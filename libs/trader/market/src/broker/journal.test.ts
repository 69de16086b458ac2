import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountOf } from '../../testing/account-of.ts';
import { bar, buy, buyAt, rich, rig, sell, sellAt, turns } from '../../testing/rig.ts';
import type { BookEntry, OrderEntry } from '../terms/books.ts';

const orders = (entries: readonly BookEntry[]): OrderEntry[] =>
  entries.filter((each) => each.kind === 'order');

test('books begin with the opening balances and have each order, each fill, and the account after each bar', () => {
  const r = rig({ market: rich });
  r.as({ trading: turns([buy('2')], [sell('3')]), rev: 4 });
  r.run(bar(1, '100'), bar(2, '100'), bar(3, '110'));
  const entries = r.engine.entries();
  assert.deepEqual(
    entries.map((each) => (each.kind === 'bar' ? 'bar' : each.event)),
    ['opened', 'placed', 'bar', 'filled', 'placed', 'bar', 'filled', 'bar'],
  );
  assert.deepEqual(
    entries.map(({ n }) => n),
    [1, 2, 3, 4, 5, 6, 7, 8],
  );
  assert.deepEqual(new Set(entries.map(({ rev }) => rev)), new Set([4]));
  assert.deepEqual(entries[0], {
    kind: 'account',
    event: 'opened',
    n: 1,
    at: 60_000,
    rev: 4,
    cash: '10000',
    position: '4',
    basis: '400',
    realizedPnl: '0',
    feesPaid: '0',
  });
  // 4 at 100 and 2 at 101 with slippage: a sale of 3 at 108.9 costs 301 of the basis of 602.
  const [, bought, , sold] = orders(entries);
  assert.deepEqual(
    [bought?.order.fillPrice, bought?.order.fee, bought?.realizedPnl],
    ['101', '2.02', undefined],
  );
  assert.deepEqual([sold?.order.fillPrice, sold?.order.fee, sold?.realizedPnl], ['108.9', '3.267', '25.7']);
  assert.deepEqual(entries.at(-1), {
    kind: 'bar',
    n: 8,
    at: 180_000,
    rev: 4,
    strategyId: 'a',
    close: '110',
    cash: '10119.413',
    position: '3',
    realizedPnl: '25.7',
    feesPaid: '5.287',
    equity: '10449.413',
  });
  assert.deepEqual(accountOf(entries), {
    cash: '10119.413',
    position: '3',
    realizedPnl: '25.7',
    feesPaid: '5.287',
  });
});

test('an entry names the revision that caused it: a fill that of its order, a cancellation that of the new one', () => {
  const r = rig({ market: rich });
  r.as({ trading: turns([buyAt('90', '2'), buyAt('80', '2'), sellAt('120', '1')]), rev: 1 });
  r.run(bar(1, '100'));
  r.as({ riskMode: 'cautious', rev: 2 });
  r.run(bar(2, '100', '121', '89'));
  r.as({ runState: 'paused', rev: 3 });
  assert.deepEqual(
    orders(r.engine.entries()).map(({ event, rev, order }) => [event, rev, order.limitPrice, order.quantity]),
    [
      ['placed', 1, '90', '2'],
      ['placed', 1, '80', '2'],
      ['placed', 1, '120', '1'],
      ['reduced', 2, '90', '1'],
      ['reduced', 2, '80', '1'],
      ['filled', 1, '90', '1'],
      ['filled', 1, '120', '1'],
      ['canceled', 3, '80', '1'],
    ],
  );
});

test('saved entries are forgotten, and numbers go on over a restart', () => {
  const r = rig({ market: rich });
  r.as({ trading: turns([buy('1')]) });
  r.run(bar(1, '100'));
  const before = r.engine.entries();
  r.engine.booked(2);
  assert.deepEqual(r.engine.entries(), before.slice(2));
  const restored = rig({ market: rich, snapshot: JSON.parse(JSON.stringify(r.engine.snapshot())) });
  assert.deepEqual(restored.engine.entries(), []);
  restored.run(bar(2, '100'));
  assert.deepEqual(
    restored.engine.entries().map(({ n, kind }) => [n, kind]),
    [
      [4, 'order'],
      [5, 'bar'],
    ],
  );
});

test('a bar whose strategy fails has its account in the books', () => {
  const r = rig({ market: rich });
  const fails = () => {
    throw new Error('out of ideas');
  };
  r.as({ trading: { warmupBars: 1, onBar: fails } });
  assert.match(String(r.engine.onBar(bar(1, '100')).error), /out of ideas/);
  assert.deepEqual(
    r.engine.entries().map(({ kind }) => kind),
    ['account', 'bar'],
  );
});

test('while nothing can be saved, orders and balances wait, and the accounts of the last thousand bars', () => {
  const r = rig({ market: rich });
  r.as({ trading: turns([buy('1')]) });
  for (let minute = 1; minute <= 1_500; minute += 1) r.run(bar(minute, '100'));
  const entries = r.engine.entries();
  assert.deepEqual(
    entries.slice(0, 4).map((each) => (each.kind === 'bar' ? each.n : each.event)),
    ['opened', 'placed', 'filled', 504],
  );
  assert.equal(entries.length, 1_003);
  assert.equal(entries.at(-1)?.n, 1_503);
});
