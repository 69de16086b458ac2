import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bar, market } from '../../testing/rig.ts';
import { money, text } from '../terms/money.ts';
import type { Bar, OpenOrder } from '../terms/strategy.ts';
import { atOpen, costOf, feeOf, withinBar, worse } from './broker.ts';

const order = (side: 'buy' | 'sell', limit?: string): OpenOrder => ({
  id: '1',
  side,
  kind: limit === undefined ? 'market' : 'limit',
  quantity: money('1'),
  purpose: side === 'buy' ? 'entry' : 'exit',
  ...(limit === undefined ? {} : { limitPrice: money(limit) }),
});

/** The place of the fill: `open 101`, `within 95`, or `not`. Slippage is 1 %, prices are in cents. */
function met(each: OpenOrder, given: Bar): string {
  const first = atOpen(each, given, market());
  if (first !== undefined) return `open ${first.price}`;
  const later = withinBar(each, given);
  return later === undefined ? 'not' : `within ${later.price}`;
}

const ROWS: [name: string, order: OpenOrder, bar: Bar, where: string][] = [
  ['a market buy pays slippage', order('buy'), bar(1, '100', '120', '80'), 'open 101'],
  ['a market sale loses slippage', order('sell'), bar(1, '100', '120', '80'), 'open 99'],
  ['the price of a buy is rounded up', order('buy'), bar(1, '0.333', '1', '0.1'), 'open 0.34'],
  ['the price of a sale is rounded down', order('sell'), bar(1, '0.333', '1', '0.1'), 'open 0.32'],
  ['a sale for less than a step of the price', order('sell'), bar(1, '0.01'), 'open 0'],

  ['a limit buy waits above the bar', order('buy', '79'), bar(1, '100', '120', '80'), 'not'],
  ['to touch it is not enough', order('buy', '80'), bar(1, '100', '120', '80'), 'not'],
  [
    'traded through, it fills at its price',
    order('buy', '80.01'),
    bar(1, '100', '120', '80'),
    'within 80.01',
  ],
  ['a limit sale waits below', order('sell', '121'), bar(1, '100', '120', '80'), 'not'],
  ['a touch is not enough for it either', order('sell', '120'), bar(1, '100', '120', '80'), 'not'],
  [
    'traded through, it fills at its price',
    order('sell', '119.99'),
    bar(1, '100', '120', '80'),
    'within 119.99',
  ],

  ['a gap through a buy fills near the open', order('buy', '110'), bar(1, '100', '120', '80'), 'open 101'],
  ['never above its limit', order('buy', '100.5'), bar(1, '100', '120', '80'), 'open 100.5'],
  ['a gap through a sale fills near the open', order('sell', '90'), bar(1, '100', '120', '80'), 'open 99'],
  ['never below its limit', order('sell', '99.5'), bar(1, '100', '120', '80'), 'open 99.5'],
  ['an open at the limit of a buy is a touch', order('buy', '100'), bar(1, '100', '120', '100'), 'not'],
  ['and a fill when it goes on', order('buy', '100'), bar(1, '100', '120', '99'), 'within 100'],
  ['an open at the limit of a sale is a touch', order('sell', '100'), bar(1, '100', '100', '90'), 'not'],
];

for (const [name, each, given, where] of ROWS) {
  test(`the broker: ${name}`, () => assert.equal(met(each, given), where));
}

test('fees are exact', () => {
  assert.equal(text(feeOf(money('0.1'), money('0.01'), market({ fees_bps: '0.1' }))), '0.00000001');
  assert.equal(text(costOf(money('2'), money('101'), market())), '204.02');
});

test('without slippage a market order fills at the open', () => {
  assert.equal(text(worse('buy', money('100'), market({ slippage_bps: '0' }))), '100');
  assert.equal(text(worse('sell', money('100'), market({ slippage_bps: '0' }))), '100');
});
