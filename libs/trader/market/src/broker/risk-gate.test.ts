import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buy, buyAt, market, sell, sellAt } from '../../testing/rig.ts';
import { money } from '../terms/money.ts';
import type { Intent, OpenOrder } from '../terms/strategy.ts';
import { type GateFacts, judgeOrder } from './risk-gate.ts';

const open = (side: 'buy' | 'sell', quantity: string): OpenOrder => ({
  id: `${side}-${quantity}`,
  side,
  kind: 'limit',
  purpose: side === 'buy' ? 'entry' : 'exit',
  quantity: money(quantity),
  limitPrice: money('100'),
});

const facts = (o: Partial<GateFacts> = {}): GateFacts => ({
  market: market(),
  runState: 'running',
  riskMode: 'normal',
  position: money('0'),
  freeCash: money('1000'),
  open: [],
  close: money('100'),
  ...o,
});

const holding = (quantity: string, ...orders: OpenOrder[]): Partial<GateFacts> => ({
  position: money(quantity),
  open: orders,
});
const cautious: Partial<GateFacts> = { riskMode: 'cautious' };
const reduceOnly: Partial<GateFacts> = { riskMode: 'reduce_only' };
const paused: Partial<GateFacts> = { runState: 'paused' };
const halted: Partial<GateFacts> = { riskMode: 'halted' };
const wrongly = (intent: Intent, purpose: 'entry' | 'exit'): Intent =>
  intent.type === 'order' ? { ...intent, purpose } : intent;

/** Formats an allowed order as `quantity [@limit] reserving reserved [because …]`, a refused one as `no: reason`, or `never: reason` by policy. */
function ruling(intent: Intent, given: Partial<GateFacts>): string {
  assert.equal(intent.type, 'order');
  if (intent.type !== 'order') return '';
  const ruled = judgeOrder(intent, facts(given));
  if ('refused' in ruled) return `${ruled.isByPolicy ? 'never' : 'no'}: ${ruled.refused}`;
  const limit = ruled.limitPrice === undefined ? '' : ` @${ruled.limitPrice}`;
  const halved = ruled.isHalved ? ' halved' : '';
  return `${ruled.quantity}${limit} reserving ${ruled.reserved}${halved}${ruled.scaled === undefined ? '' : `, ${ruled.scaled}`}`;
}

const ROWS: [name: string, intent: Intent, given: Partial<GateFacts>, ruled: string][] = [
  // A market buy reserves the close with slippage (101), and the fee of 1 %.
  ['a market buy reserves slippage and fee', buy('2'), {}, '2 reserving 204.02'],
  ['a limit buy reserves its limit and fee', buyAt('90', '2'), {}, '2 @90 reserving 181.8'],
  ['a sale reserves what it sells', sell('2'), holding('3'), '2 reserving 2'],
  ['quantities are rounded down to their step', buyAt('90', '2.19'), {}, '2.1 @90 reserving 190.89'],
  ['of a sale too', sell('2.19'), holding('3'), '2.1 reserving 2.1'],
  ['the limit of a buy is rounded down', buyAt('90.019', '1'), {}, '1 @90.01 reserving 90.9101'],
  ['the limit of a sale is rounded up', sellAt('110.011', '1'), holding('3'), '1 @110.02 reserving 1'],
  ['a limit below one step is no price', buyAt('0.009', '1'), {}, 'no: the price is below one step of 0.01'],

  ['max_order cuts a buy', buyAt('10', '7'), {}, '5 @10 reserving 50.5, reduced: limit max_order 5'],
  ['max_order does not cut a sale', sell('7'), holding('8'), '7 reserving 7'],
  [
    'max_position cuts a buy, open buys counted',
    buyAt('10', '4'),
    holding('3', open('buy', '3')),
    '2 @10 reserving 20.2, reduced: limit max_position 8',
  ],
  [
    'no room is left',
    buyAt('10', '4'),
    holding('8'),
    'never: limit min_order 0.5: 0 is left after limit max_position 8',
  ],
  [
    'a position beyond the limit leaves no room either',
    buyAt('10', '4'),
    holding('20'),
    'never: limit min_order 0.5: 0 is left after limit max_position 8',
  ],
  [
    'open sales make no room',
    buyAt('10', '1'),
    holding('8', open('sell', '8')),
    'never: limit min_order 0.5: 0 is left after limit max_position 8',
  ],
  ['below min_order', buyAt('10', '0.4'), {}, 'no: limit min_order 0.5: 0.4 is left'],
  ['at min_order', buyAt('10', '0.5'), {}, '0.5 @10 reserving 5.05'],
  ['below a step', buyAt('10', '0.04'), {}, 'no: limit min_order 0.5: 0 is left'],
  ['a sale below min_order', sell('0.4'), holding('3'), 'no: limit min_order 0.5: 0.4 is left'],
  ['but all that is held may be sold', sell('0.4'), holding('0.4'), '0.4 reserving 0.4'],
  ['whatever dust below a step is left', sell('0.4'), holding('0.47'), '0.4 reserving 0.4'],
  [
    'buys have as many as max_open_orders',
    buyAt('10', '1'),
    holding('1', open('buy', '1'), open('buy', '1'), open('buy', '1')),
    'never: limit max_open_orders: 3 buy orders are open already',
  ],
  [
    'which never stand in the way of an exit',
    sell('1'),
    holding('1', open('buy', '1'), open('buy', '1'), open('buy', '1')),
    '1 reserving 1',
  ],
  [
    'sales have as many of their own',
    sell('1'),
    holding('4', open('sell', '1'), open('sell', '1'), open('sell', '1')),
    'no: limit max_open_orders: 3 sell orders are open already',
  ],

  ['cash covers it to the last cent', buyAt('10', '1'), { freeCash: money('10.1') }, '1 @10 reserving 10.1'],
  [
    'or does not',
    buyAt('10', '1'),
    { freeCash: money('10.09') },
    'no: balance: the order costs 10.1 with its fee, and 10.09 is free',
  ],
  [
    'a sale is cut to what no other order sells',
    sell('3'),
    holding('4', open('sell', '2')),
    '2 reserving 2, reduced: 2 held and not reserved by open sell orders',
  ],
  [
    'nothing is left to sell',
    sell('3'),
    holding('4', open('sell', '4')),
    'no: limit min_order 0.5: 0 is left after 0 held and not reserved by open sell orders',
  ],
  [
    'nothing is held',
    sell('3'),
    {},
    'no: limit min_order 0.5: 0 is left after 0 held and not reserved by open sell orders',
  ],

  [
    'cautious halves an entry',
    buyAt('10', '4'),
    cautious,
    '2 @10 reserving 20.2 halved, reduced: risk mode cautious halves entries',
  ],
  [
    'and what a limit left of it',
    buyAt('10', '7'),
    cautious,
    '2.5 @10 reserving 25.25 halved, reduced: limit max_order 5, risk mode cautious halves entries',
  ],
  [
    'rounded down',
    buyAt('10', '1.3'),
    cautious,
    '0.6 @10 reserving 6.06 halved, reduced: risk mode cautious halves entries',
  ],
  [
    'down to min_order',
    buyAt('10', '0.8'),
    cautious,
    'never: limit min_order 0.5: 0.4 is left after risk mode cautious halves entries',
  ],
  [
    'what would be too small in any mode is not as commanded',
    buyAt('10', '0.4'),
    cautious,
    'no: limit min_order 0.5: 0.2 is left after risk mode cautious halves entries',
  ],
  ['cautious leaves exits whole', sell('4'), { ...cautious, ...holding('4') }, '4 reserving 4'],

  [
    'reduce_only takes no entry',
    buy('1'),
    { ...reduceOnly, ...holding('4') },
    'never: risk mode reduce_only: no entries',
  ],
  ['reduce_only takes exits', sell('1'), { ...reduceOnly, ...holding('4') }, '1 reserving 1'],
  [
    'never beyond the position, open exits counted',
    sell('4'),
    { ...reduceOnly, ...holding('4', open('sell', '3')) },
    '1 reserving 1, reduced: 1 held and not reserved by open sell orders',
  ],
  ['halted takes no entry', buy('1'), halted, 'never: risk mode halted: no orders'],
  ['halted takes no exit', sell('1'), { ...halted, ...holding('4') }, 'never: risk mode halted: no orders'],
  ['paused takes no entry', buy('1'), paused, 'never: paused: no entries'],
  ['paused takes exits', sell('1'), { ...paused, ...holding('4') }, '1 reserving 1'],
  [
    'paused and cautious takes exits whole',
    sell('4'),
    { ...paused, ...cautious, ...holding('4') },
    '4 reserving 4',
  ],

  [
    'a buy that calls itself an exit does not slip through a pause',
    wrongly(buy('1'), 'exit'),
    paused,
    'no: a buy cannot be an exit of a spot account: buys enter, sales exit',
  ],
  [
    'nor is a sale an entry',
    wrongly(sell('1'), 'entry'),
    holding('4'),
    'no: a sell cannot be an entry of a spot account: buys enter, sales exit',
  ],
];

for (const [name, intent, given, ruled] of ROWS) {
  test(`the risk gate: ${name}`, () => assert.equal(ruling(intent, given), ruled));
}

test('the risk gate is stateless: the same facts give the same result', () => {
  const given = facts(cautious);
  const intent = buyAt('10', '4');
  assert.equal(intent.type, 'order');
  if (intent.type === 'order') assert.deepEqual(judgeOrder(intent, given), judgeOrder(intent, given));
});
