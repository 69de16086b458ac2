import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { market, syntheticBars } from '../../testing/play.ts';
import { DegradedSchema } from '../follow/degraded.ts';
import { STRATEGY_KINDS } from '../strategies/index.ts';
import { strategyKind } from '../strategies/kind.ts';
import type { Concern, Strategy } from '../terms/concern.ts';
import { money, sum, text } from '../terms/money.ts';
import { createEquityCurve } from './equity-curve.ts';
import { createSimulation, type SimulatedOrder, type SimulationOptions } from './simulation.ts';

const STRATEGY: Strategy = {
  id: 's',
  name: 's',
  kind: 'grid_trader',
  accountId: 'a',
  marketSymbol: 'm',
  params: { levels: 4, spacing_bps: 60, order_share: '0.2', centre_bars: 5 },
  status: 'enabled',
};
const CONCERN: Concern = {
  id: 'a:m',
  accountId: 'a',
  marketSymbol: 'm',
  activeStrategyId: 's',
  runState: 'running',
  riskMode: 'normal',
  rev: 1,
};

function simulate(
  o: Partial<SimulationOptions> & { readonly strategy?: Strategy; readonly bars?: number } = {},
) {
  const orders: SimulatedOrder[] = [];
  const simulation = createSimulation({
    concernId: 'a:m',
    market: market(),
    degraded: DegradedSchema.parse({}),
    onOrder: (order) => void orders.push(order),
    ...o,
  });
  simulation.reconcile(CONCERN, o.strategy ?? STRATEGY);
  for (const bar of syntheticBars(3, o.bars ?? 600)) simulation.bar(bar);
  return { simulation, orders, result: simulation.finish() };
}

test('the figures of a simulation are those of its fills and of the engine', () => {
  const { result, orders } = simulate();
  const { figures, view } = result;
  const fills = orders.filter(({ order }) => order.state === 'filled');
  assert.ok(fills.length > 50, `${fills.length} fills show little`);
  assert.equal(text(figures.equity), view.equity.total);
  assert.equal(text(figures.realized), view.equity.realizedPnl);
  assert.equal(text(figures.fees), view.equity.feesPaid);
  assert.equal(text(sum(fills.map(({ order }) => money(order.fee ?? 'NaN')))), view.equity.feesPaid);
  assert.equal(figures.fills, fills.length);
  const sales = fills.flatMap(({ sale }) => sale ?? []);
  assert.equal(figures.sales, sales.length);
  assert.equal(figures.wins, sales.filter(({ net }) => net.gt('0')).length);
  assert.equal(text(sum(sales.map(({ realized }) => realized))), view.equity.realizedPnl);
  // Without a position at the end, the net profits are all that changed.
  if (view.position.quantity === '0')
    assert.equal(text(sum(sales.map(({ net }) => net))), text(figures.equity.minus(figures.openingEquity)));
  const { placed, filled, canceled, open } = result.orders;
  assert.equal(placed, filled + canceled + open);
});

test('two simulations of the same bars are the same, and so are their order ids', () => {
  const [one, two] = [simulate(), simulate()];
  assert.deepEqual(one.orders, two.orders);
  assert.deepEqual(one.result, two.result);
  assert.equal(
    one.orders.some(({ order }) => order.id === 'order-1'),
    true,
  );
});

test('an order names the decision under which it was placed, also when another one ends it', () => {
  const orders: SimulatedOrder[] = [];
  const simulation = createSimulation({
    concernId: 'a:m',
    market: market(),
    degraded: DegradedSchema.parse({}),
    onOrder: (order) => void orders.push(order),
  });
  const bars = syntheticBars(3, 10);
  simulation.reconcile(CONCERN, STRATEGY, 'first');
  for (const bar of bars.slice(0, 6)) simulation.bar(bar);
  const before = orders.length;
  const { canceledOrders } = simulation.reconcile({ ...CONCERN, runState: 'paused' }, STRATEGY, 'second');
  assert.ok(canceledOrders > 0);
  assert.deepEqual(
    orders.slice(before).map(({ order, decisionId }) => [order.state, decisionId]),
    Array.from({ length: canceledOrders }, () => ['canceled', 'first']),
  );
});

test('a strategy that keeps failing degrades execution, is faulted, and enters no more', () => {
  const failing = strategyKind(z.strictObject({}), () => ({
    warmupBars: 1,
    onBar: () => {
      throw new Error('out of ideas');
    },
  }));
  const kinds = { ...STRATEGY_KINDS, failing };
  const strategy = { ...STRATEGY, kind: 'failing', params: {} };
  const { simulation, result } = simulate({ kinds, strategy, bars: 12 });
  assert.deepEqual([result.errors, result.firstError], [12, 'out of ideas']);
  assert.match(simulation.faulted('s') ?? '', /10 errors in a row, the last: out of ideas/);
  assert.match(simulation.preflight(strategy) ?? '', /is faulted/);
  assert.match(simulation.reasons().join(), /bars in a row ended in an error/);
  assert.match(simulation.preflight({ ...STRATEGY, kind: 'unknown' }) ?? '', /there is no kind unknown/);
});

test('a bar out of order is refused', () => {
  const { simulation } = simulate({ bars: 5 });
  const [first] = syntheticBars(3, 1);
  assert.ok(first);
  assert.throws(() => simulation.bar(first), /does not come after/);
});

test('a curve of any length has at most 500 points at equal distances, with the first and the last bar', () => {
  for (const length of [0, 1, 2, 499, 500, 501, 999, 1_000, 12_345]) {
    const curve = createEquityCurve();
    for (let at = 0; at < length; at += 1) curve.add({ at, equity: money('1'), close: money('1') });
    const times = curve.points().map(({ at }) => at);
    assert.ok(times.length <= 500 && times.length >= Math.min(length, 250), `${times.length} of ${length}`);
    if (length > 0) assert.deepEqual([times[0], times.at(-1)], [0, length - 1]);
    const steps = new Set(times.slice(1, -1).map((at, n) => at - (times[n] ?? 0)));
    assert.ok(steps.size <= 1, `distances of ${[...steps]} at ${length}`);
  }
});
