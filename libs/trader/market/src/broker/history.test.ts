import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { bar, buyAt, counting, rich, scripted, sellAt } from '../../testing/rig.ts';
import { createEngine, type Engine } from './engine.ts';

const restingOrders = scripted(({ openOrders }) =>
  openOrders.length > 0 ? [] : [buyAt('80', '2'), sellAt('120', '3')],
);

function engineOf(feed: string | undefined, snapshot?: JsonObject): Engine {
  const watcher = { order: () => undefined };
  const engine = createEngine({ concernId: 'c', market: rich, snapshot, feed, ids: counting(), watcher });
  const strategy = { id: 'a', trading: restingOrders };
  engine.configure({ runState: 'running', riskMode: 'normal', strategy });
  return engine;
}

/** The snapshot after two bars at late times, with a buy and a sale open. */
function snapshotOf(feed: string | undefined): JsonObject {
  const engine = engineOf(feed);
  for (const minute of [1_000, 1_001]) assert.deepEqual(engine.onBar(bar(minute, '100')), {});
  assert.equal(engine.view().openOrders.length, 2);
  const snapshot: unknown = JSON.parse(JSON.stringify(engine.snapshot()));
  assert.ok(isJsonObject(snapshot));
  return snapshot;
}

test('another feed begins a new history: its bars may be older, open orders are canceled, the account stays', () => {
  const engine = engineOf('csv b.csv', snapshotOf('synthetic'));
  const before = engine.view();
  assert.equal(engine.lastBar(), undefined);
  assert.equal(before.lastBar?.close, '100');
  assert.deepEqual(engine.onBar(bar(1, '50')), {});
  const after = engine.view();
  assert.deepEqual(
    after.recentOrders.map(({ state, reason }) => `${state}: ${reason}`),
    ['canceled: the feed changed to csv b.csv', 'canceled: the feed changed to csv b.csv'],
  );
  // The buy at 80 did not fill at 50. The strategy placed both anew.
  assert.deepEqual(
    [after.position.quantity, after.equity.feesPaid, after.openOrders.length],
    [before.position.quantity, '0', 2],
  );
  assert.equal(after.equity.cash, before.equity.cash);
  assert.equal(engine.lastBar()?.at, bar(1, '50').at);
  assert.deepEqual(engine.onBar(bar(2, '90')), {});
});

test('a start before the first bar of another feed does not forget that it is another one', () => {
  const once = engineOf('csv b.csv', snapshotOf('synthetic'));
  const again = engineOf('csv b.csv', once.snapshot());
  assert.equal(again.lastBar(), undefined);
  assert.deepEqual(again.onBar(bar(1, '50')), {});
  assert.equal(engineOf('csv b.csv', again.snapshot()).lastBar()?.at, bar(1, '50').at);
});

test('the same feed, and a snapshot that does not name one, are continued', () => {
  for (const [written, read] of [
    ['synthetic', 'synthetic'],
    [undefined, 'synthetic'],
    ['synthetic', undefined],
  ] as const) {
    const engine = engineOf(read, snapshotOf(written));
    assert.equal(engine.lastBar()?.at, bar(1_001, '100').at);
    assert.match(engine.onBar(bar(1, '50')).error?.message ?? '', /does not come after/);
    assert.equal(engine.view().openOrders.length, 2);
  }
});

test('a history moves with a clock that was set back, and orders stay open', () => {
  const engine = engineOf('synthetic', snapshotOf('synthetic'));
  const { equity, openOrders } = engine.view();
  engine.moveHistory(bar(500, '1').at);
  assert.equal(engine.lastBar()?.at, bar(500, '1').at);
  assert.deepEqual(engine.onBar(bar(501, '100')), {});
  const after = engine.view();
  assert.deepEqual(after.equity, equity);
  assert.deepEqual(
    after.openOrders.map(({ id }) => id),
    openOrders.map(({ id }) => id),
  );
  assert.ok(after.openOrders.every(({ placedAt }) => placedAt <= new Date(bar(500, '1').at).toISOString()));
  assert.equal(engine.view().execution.bars, 3);
});
