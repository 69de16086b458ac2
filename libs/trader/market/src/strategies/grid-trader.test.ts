import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { market, play, syntheticBars } from '../../testing/play.ts';
import { formatIntents, type Situation, viewOf } from '../../testing/views.ts';
import { money, sum } from '../terms/money.ts';
import type { Intent, OpenOrder } from '../terms/strategy.ts';
import { createStrategy } from './index.ts';

const params = { centre: '100', levels: 3, spacing_bps: 100, order_share: '0.1' };
const strategy = createStrategy({ id: 's', kind: 'grid_trader', params });
const wants = (situation: Situation): string[] => formatIntents(strategy.onBar(viewOf(situation)));

/** The open orders after all of these intents are accepted. */
const resting = (intents: readonly Intent[]): OpenOrder[] =>
  intents.flatMap((intent, i) => (intent.type === 'order' ? [{ id: `o${i}`, ...intent }] : []));
const first = resting(strategy.onBar(viewOf({ closes: [100] })));
const named = (orders: readonly OpenOrder[], ...tags: string[]): OpenOrder[] =>
  tags.map((tag) => orders.find((order) => order.tag === tag) ?? assert.fail(`no order ${tag}`));

describe('grid_trader', () => {
  it('places a buy on each level below its center, each for a share of the equity', () => {
    assert.deepEqual(wants({ closes: [100] }), [
      'buy limit 1.00999999 @ 99.0099009901 (buy:-1)',
      'buy limit 1.02009999 @ 98.0296049407 (buy:-2)',
      'buy limit 1.03030099 @ 97.0590147928 (buy:-3)',
    ]);
  });

  it('keeps its open orders', () => assert.deepEqual(wants({ closes: [100], openOrders: first }), []));

  it('places no buy above the price or beyond the cash', () => {
    assert.deepEqual(wants({ closes: [98.5] }).length, 2);
    assert.deepEqual(wants({ closes: [90] }), []);
    const view = { ...viewOf({ closes: [100] }), freeCash: money('205') };
    assert.deepEqual(strategy.onBar(view).length, 2);
  });

  it('sells a filled level one level above, and buys it again after the sale', () => {
    const left = named(first, 'buy:-2', 'buy:-3');
    const situation = { closes: [98.9], position: '1.01', cash: '900' };
    assert.deepEqual(wants({ ...situation, openOrders: left }), ['sell limit 1.01 @ 100 (sell:-1)']);
    const sale = resting(strategy.onBar(viewOf({ ...situation, openOrders: left })));
    assert.deepEqual(wants({ ...situation, openOrders: [...left, ...sale] }), []);
    const [again] = wants({ closes: [100.5], openOrders: left, cash: '1001' });
    assert.match(again ?? '', /^buy limit 1\.011.* @ 99\.0099.* \(buy:-1\)$/);
  });

  it('sells an inherited position above the price, and any excess in one order', () => {
    assert.deepEqual(wants({ closes: [98.5], position: '2', cash: '803' }), [
      'sell limit 1.02009999 @ 99.0099009901 (sell:-2)',
      'sell limit 0.97990001 @ 100 (sell:-1)',
      'buy limit 1.03030099 @ 97.0590147928 (buy:-3)',
    ]);
    const much = wants({ closes: [98.5], position: '50', cash: '0' });
    assert.deepEqual(
      much.map((words) => words.replace(/.*\(/, '(')),
      ['(sell:-2)', '(sell:-1)', '(sell:rest)'],
    );
    assert.match(
      wants({ closes: [150], position: '5', cash: '10' }).join(),
      /^sell limit 5 @ 150\.\d+ \(sell:rest\)$/,
    );
  });

  it('follows the mean close by whole levels if no center is configured', () => {
    const follows = createStrategy({
      id: 's',
      kind: 'grid_trader',
      params: { centre_bars: 4, levels: 2, spacing_bps: 100, order_share: '0.1' },
    });
    assert.equal(follows.warmupBars, 4);
    const at = (price: number, openOrders: OpenOrder[] = []) =>
      follows.onBar(viewOf({ closes: Array(4).fill(price), openOrders }));
    const before = resting(at(100));
    assert.deepEqual(at(100.2, before), []);
    const moved = formatIntents(at(101, before));
    assert.match(moved.join(), /^cancel o1,buy limit .* \(buy:\d+\)$/);
  });

  it('never orders and holds more than its levels, however the price moves', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        fc.integer({ min: 1, max: 8 }),
        fc.boolean(),
        fc.constantFrom('normal' as const, 'cautious' as const),
        (seed, levels, isFixed, riskMode) => {
          const trading = createStrategy({
            id: 's',
            kind: 'grid_trader',
            params: { levels, order_share: '0.1', centre_bars: 5, ...(isFixed ? { centre: '0.5' } : {}) },
          });
          let most = money('10000');
          const engine = play({
            trading,
            riskMode,
            bars: syntheticBars(seed, 80),
            look: ({ view }) => {
              const { openOrders, equity } = view();
              assert.ok(openOrders.length <= levels, `${openOrders.length} orders for ${levels} levels`);
              most = money(equity.total).gt(most) ? money(equity.total) : most;
              const cost = money('10000').minus(equity.cash).plus(equity.realizedPnl);
              assert.ok(
                cost.lte(most.times(levels).times('0.101').plus(equity.feesPaid)),
                `${cost} are at stake`,
              );
            },
          });
          const { openOrders, position, execution } = engine.view();
          const sales = openOrders.filter(({ side }) => side === 'sell');
          const bare = money(position.quantity).minus(sum(sales.map(({ quantity }) => money(quantity))));
          assert.ok(
            bare.times('0.5').lt(most.times('0.012')),
            `${bare} of ${position.quantity} are not for sale`,
          );
          assert.equal(execution.rejects, 0);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('earns a profit in an oscillating market', () => {
    const closes = [100, 98.9, 100.2, 98.9, 100.2, 98.9, 100.2];
    const bars = viewOf({ closes }).bars;
    const { execution, equity } = play({ trading: strategy, bars, market: market({ fees_bps: '0' }) }).view();
    assert.equal(execution.fills, 6);
    assert.ok(money(equity.realizedPnl).gt(29), equity.realizedPnl);
  });
});
