import assert from 'node:assert/strict';
import { test } from 'node:test';
import { money } from '../terms/money.ts';
import { createNetProfit } from './net-profit.ts';
import { createPerformance, type Performance } from './performance.ts';

const DAY = 86_400_000;
const near = (actual: number | null, expected: number): void =>
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

/** Feeds daily bars from pairs of equity and position value. */
function feed(performance: Performance, days: readonly (readonly [string, string])[], from = 1): Performance {
  days.forEach(([equity, position], n) => {
    performance.bar({ at: (from + n) * DAY, equity: money(equity), positionValue: money(position) });
  });
  return performance;
}

/** Returns of +10 %, −10 %, 0 and +20 % after an opening of 100. */
const DAYS = [
  ['110', '55'],
  ['99', '99'],
  ['99', '0'],
  ['118.8', '29.7'],
] as const;

test('a period of four days is measured as by hand', () => {
  const figures = feed(createPerformance({ opening: money('100') }), DAYS).figures();
  near(figures.return, 0.188);
  assert.equal(figures.equity.toFixed(), '118.8');
  assert.deepEqual([figures.bars, figures.firstAt, figures.lastAt], [4, DAY, 4 * DAY]);
  // The peak of 110 falls to 99; the last close is a new peak.
  near(figures.maxDrawdown, 0.1);
  near(figures.drawdown, 0);
  // Shares of 0.5, 1, 0 and 0.25.
  near(figures.exposure, 0.4375);
  // The returns 0.1, −0.1, 0 and 0.2 have the mean 0.05; their distances square to 0.0025 + 0.0225 + 0.0025 + 0.0225.
  near(figures.sharpe, (0.05 / Math.sqrt(0.05 / 3)) * Math.sqrt(365.25));
  // One loss of four returns: the downside deviation is the root of 0.01 / 4.
  near(figures.sortino, (0.05 / 0.05) * Math.sqrt(365.25));
});

test('the annualization follows the time between bars, or the interval that is given', () => {
  const hourly = feed(createPerformance({ opening: money('100'), intervalMs: 3_600_000 }), DAYS).figures();
  near(hourly.sortino, Math.sqrt(365.25 * 24));
  const daily = feed(createPerformance({ opening: money('100') }), DAYS).figures();
  near(daily.sortino, Math.sqrt(365.25));
});

test('a drawdown counts from the opening, and stays after a recovery', () => {
  const performance = createPerformance({ opening: money('200') });
  feed(performance, [['150', '0']]);
  near(performance.figures().drawdown, 0.25);
  feed(performance, [['300', '0']], 2);
  near(performance.figures().drawdown, 0);
  near(performance.figures().maxDrawdown, 0.25);
  feed(performance, [['270', '0']], 3);
  near(performance.figures().drawdown, 0.1);
  near(performance.figures().maxDrawdown, 0.25);
});

test('without an opening, the first bar is the opening', () => {
  const { openingEquity, return: gain } = feed(createPerformance(), DAYS).figures();
  assert.equal(openingEquity.toFixed(), '110');
  near(gain, 0.08);
});

test('win rate, profit factor, fees and realized profit come from the fills', () => {
  const performance = createPerformance({ opening: money('100') });
  const sale = (realized: string, net: string) => ({ realized: money(realized), net: money(net) });
  performance.fill({ fee: money('1') });
  performance.fill({ fee: money('0.5'), sale: sale('10', '9') });
  performance.fill({ fee: money('0.5'), sale: sale('-2', '-3') });
  // Gains less than its fees: no win.
  performance.fill({ fee: money('0.5'), sale: sale('0.5', '0') });
  performance.fill({ fee: money('0.5'), sale: sale('4', '3') });
  const figures = performance.figures();
  assert.deepEqual([figures.fills, figures.sales, figures.wins], [5, 4, 2]);
  near(figures.winRate, 0.5);
  near(figures.profitFactor, 4);
  assert.deepEqual([figures.fees.toFixed(), figures.realized.toFixed()], ['3', '12.5']);
});

test('what is not defined is null, and an account without equity is measured', () => {
  const empty = createPerformance().figures();
  for (const key of ['return', 'sharpe', 'sortino', 'exposure', 'winRate', 'profitFactor'] as const)
    assert.equal(empty[key], null, key);
  const flat = feed(createPerformance({ opening: money('100') }), [
    ['100', '0'],
    ['100', '0'],
  ]).figures();
  assert.deepEqual([flat.return, flat.sharpe, flat.sortino, flat.maxDrawdown], [0, null, null, 0]);
  const poor = feed(createPerformance({ opening: money('0') }), [
    ['0', '0'],
    ['0', '0'],
  ]).figures();
  assert.deepEqual([poor.return, poor.sharpe, poor.exposure, poor.maxDrawdown], [null, null, 0, 0]);
});

test('the net profit of a sale bears its own fee and the entry fees of the units sold', () => {
  const profit = createNetProfit();
  const fill = (side: 'buy' | 'sell', quantity: string, held: string, realized: string, fee: string) =>
    profit({
      side,
      quantity: money(quantity),
      held: money(held),
      realized: money(realized),
      fee: money(fee),
    })?.toFixed();
  assert.equal(fill('buy', '6', '0', '0', '6'), undefined);
  assert.equal(fill('buy', '2', '6', '0', '2'), undefined);
  // Two of eight units carry two of eight.
  assert.equal(fill('sell', '2', '8', '10', '1'), '7');
  assert.equal(fill('sell', '6', '6', '3', '1'), '-4');
  // A third of an opening position, which carries no fees.
  assert.equal(fill('sell', '1', '3', '2', '0.5'), '1.5');
});
