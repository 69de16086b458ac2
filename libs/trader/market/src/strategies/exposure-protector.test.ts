import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { market, play } from '../../testing/play.ts';
import { barsOf, formatIntents, type Situation, viewOf } from '../../testing/views.ts';
import { money } from '../terms/money.ts';
import { createStrategy } from './index.ts';

const made = (target_share: string, tolerance: string) =>
  createStrategy({ id: 's', kind: 'exposure_protector', params: { target_share, tolerance } });
const wants = (situation: Situation): string[] => formatIntents(made('0.5', '0.1').onBar(viewOf(situation)));

describe('exposure_protector', () => {
  it('does nothing inside its band', () => {
    for (const position of ['67', '100', '149'])
      assert.deepEqual(wants({ closes: [10], position, cash: '1000' }), []);
  });

  it('sells down to the target from above the band', () => {
    assert.deepEqual(wants({ closes: [10], position: '200' }), ['sell market 50 (reduce)']);
  });

  it('buys up to the target from below the band, as far as the cash allows', () => {
    assert.deepEqual(wants({ closes: [10] }), ['buy market 50 (restore)']);
    const most = made('1', '0.1').onBar(viewOf({ closes: [10] }));
    assert.deepEqual(formatIntents(most), ['buy market 98 (restore)']);
  });

  it('sells everything for a target of 0', () => {
    assert.deepEqual(formatIntents(made('0', '0.01').onBar(viewOf({ closes: [3], position: '7' }))), [
      'sell market 7 (reduce)',
    ]);
  });

  it('waits for its open order, and does nothing without bars or equity', () => {
    const order = { id: 'o', side: 'buy', kind: 'market', purpose: 'entry', quantity: money('1') } as const;
    assert.deepEqual(wants({ closes: [10], openOrders: [order] }), []);
    assert.deepEqual(wants({ closes: [] }), []);
    assert.deepEqual(wants({ closes: [10], cash: '0' }), []);
  });

  it('is inside its band after two fills from any start, even when buys are halved', () => {
    const share = fc.integer({ min: 0, max: 100 });
    fc.assert(
      fc.property(
        share,
        share,
        fc.integer({ min: 1, max: 1e6 }),
        fc.boolean(),
        (target, held, cents, halves) => {
          const price = money(String(cents)).div(100);
          const strategy = made(String(target / 100), '0.02');
          let position = money(String(held * 10)).div(price);
          let cash = money(String(1_000 - held * 10));
          const distance = () =>
            position
              .times(price)
              .div(1_000)
              .minus(target / 100)
              .abs()
              .toNumber();
          for (let bar = 0; bar < 8 && distance() > 0.02; bar += 1) {
            const before = distance();
            const view = viewOf({
              closes: [price.toFixed()],
              position: position.toFixed(),
              cash: cash.toFixed(),
            });
            const [order] = strategy.onBar(view);
            assert.ok(order?.type === 'order', `nothing is wanted ${before} off the target`);
            const isBuy = order.side === 'buy';
            const moved = order.quantity.times(isBuy ? (halves ? 0.5 : 1) : -1);
            position = position.plus(moved);
            cash = cash.minus(moved.times(price));
            assert.ok(distance() < before && !cash.isNegative() && !position.isNegative());
          }
          assert.ok(distance() <= 0.0200001, `${distance()} off the target`);
        },
      ),
    );
  });

  it('brings a real account into its band, with fees and slippage, and keeps it there', () => {
    const share = fc.integer({ min: 0, max: 95 });
    fc.assert(
      fc.property(
        share,
        share,
        fc.constantFrom('normal' as const, 'cautious' as const),
        (target, held, riskMode) => {
          const balances = { quote: String(10_000 - held * 100), base: String(held * 100) };
          let settled = 0;
          const engine = play({
            trading: made(String(target / 100), '0.02'),
            market: market({ balances }),
            riskMode,
            bars: barsOf(Array(12).fill('1')),
            look: ({ view }) => {
              settled = view().openOrders.length === 0 ? settled + 1 : 0;
            },
          });
          const { position, equity, execution } = engine.view();
          const off = Math.abs(Number(position.quantity) / Number(equity.total) - target / 100);
          assert.ok(off <= 0.0201 && settled >= 4, `${off} off the target, settled for ${settled} bars`);
          assert.equal(execution.rejects, 0);
        },
      ),
      { numRuns: 40 },
    );
  });
});
