import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { play, syntheticBars } from '../../testing/play.ts';
import { formatIntents, type Situation, viewOf } from '../../testing/views.ts';
import { money } from '../terms/money.ts';
import type { OpenOrder } from '../terms/strategy.ts';
import { createStrategy } from './index.ts';

const params = { fast_bars: 3, slow_bars: 6, atr_bars: 5, entry_bars: 2, risk_share: '0.01', stop_atr: '2' };
const strategy = createStrategy({ id: 's', kind: 'trend_follower', params });
const wants = (situation: Situation): string[] => formatIntents(strategy.onBar(viewOf(situation)));

const flat = Array.from({ length: 10 }, (_, i) => 100 + (i % 2) / 100);
const falling = [...flat, 99, 98, 97, 96];
const rising = [...falling, 97, 99, 101];
const risen = [...rising, 103, 105, 107, 109];

const resting: OpenOrder = {
  id: 'o1',
  side: 'sell',
  kind: 'limit',
  purpose: 'exit',
  tag: 'profit',
  quantity: money('2'),
  limitPrice: money('150'),
};

describe('trend_follower', () => {
  it('buys when the fast average has just crossed above the slow one, sized by the loss at its stop', () => {
    const [order, ...others] = strategy.onBar(viewOf({ closes: rising }));
    assert.ok(order?.type === 'order' && others.length === 0);
    assert.deepEqual([order.side, order.kind, order.purpose], ['buy', 'market', 'entry']);
    // Two true ranges, of 1.25 to 1.75, may lose 1 % of 1,000.
    assert.ok(order.quantity.gt(10 / 3.5) && order.quantity.lt(10 / 2.5), order.quantity.toFixed());
  });

  it('spends no more than its share or the free cash', () => {
    const bold = createStrategy({ id: 's', kind: 'trend_follower', params: { ...params, risk_share: '1' } });
    const spent = (cash: string, equity: string): number => {
      const [order] = bold.onBar({ ...viewOf({ closes: rising, cash }), equity: money(equity) });
      assert.ok(order?.type === 'order');
      return order.quantity.times(101).toNumber();
    };
    assert.ok(Math.abs(spent('1000', '1000') - 500) < 0.01);
    assert.ok(Math.abs(spent('100', '1000') - 98) < 0.01);
  });

  it('does nothing in a falling market, in an old trend and at constant prices', () => {
    assert.deepEqual(wants({ closes: falling }), []);
    assert.deepEqual(wants({ closes: risen }), []);
    assert.deepEqual(
      formatIntents(strategy.onBar({ ...viewOf({ closes: Array(20).fill(100) }), bars: [] })),
      [],
    );
  });

  it('covers its position by a take-profit sale, and keeps that open', () => {
    const [order] = strategy.onBar(viewOf({ closes: risen, position: '2', averagePrice: '101' }));
    assert.ok(order?.type === 'order' && order.limitPrice);
    assert.deepEqual([order.side, order.purpose, order.quantity.toFixed()], ['sell', 'exit', '2']);
    assert.ok(order.limitPrice.gt(109));
    assert.deepEqual(wants({ closes: risen, position: '2', openOrders: [resting] }), []);
    assert.deepEqual(wants({ closes: risen, position: '2.1', openOrders: [resting] }), []);
  });

  it('sells everything and cancels its open orders when the averages cross back', () => {
    const closes = [...risen, 100, 90];
    assert.deepEqual(wants({ closes, position: '2', openOrders: [resting] }), [
      'cancel o1',
      'sell market 2 (stop)',
    ]);
  });

  it('sells everything at its stop, even while the averages still rise', () => {
    const jumped = [...risen, 120, 121, 122, 123, 114];
    const tight = createStrategy({ id: 's', kind: 'trend_follower', params: { ...params, stop_atr: '1' } });
    const loose = createStrategy({ id: 's', kind: 'trend_follower', params: { ...params, stop_atr: '50' } });
    const view = viewOf({ closes: jumped, position: '2' });
    assert.deepEqual(formatIntents(tight.onBar(view)), ['sell market 2 (stop)']);
    assert.match(formatIntents(loose.onBar(view)).join(), /^sell limit 2 @ .* \(profit\)$/);
  });

  it('protects or sells an inherited position', () => {
    assert.match(wants({ closes: risen, position: '7' }).join(), /^sell limit 7 @/);
    assert.deepEqual(wants({ closes: falling, position: '7' }), ['sell market 7 (stop)']);
  });

  it('does not sell again while a market sale is open', () => {
    const selling: OpenOrder = {
      id: 'o2',
      side: 'sell',
      kind: 'market',
      purpose: 'exit',
      quantity: money('2'),
    };
    assert.deepEqual(wants({ closes: falling, position: '2', openOrders: [selling] }), []);
  });

  it('trades a random walk in a real account: its whole position is always covered by sales, and nothing is rejected', () => {
    let fills = 0;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (seed) => {
        const engine = play({
          trading: strategy,
          bars: syntheticBars(seed, 100),
          look: ({ view }) => {
            const { openOrders, position } = view();
            const sales = openOrders.filter(({ side }) => side === 'sell');
            assert.ok(sales.length <= 1 && openOrders.length <= 1);
            assert.deepEqual(
              sales.map(({ quantity }) => quantity),
              Number(position.quantity) > 0 ? [position.quantity] : [],
            );
          },
        });
        const { execution } = engine.view();
        assert.equal(execution.rejects, 0);
        fills += execution.fills;
      }),
      { numRuns: 20 },
    );
    assert.ok(fills > 20, `${fills} fills`);
  });
});
