import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { bar, buy, buyAt, market, resting, rich, rig, scripted, sell, turns } from '../../testing/rig.ts';
import type { Intent } from '../terms/strategy.ts';
import { MAX_INTENTS } from './intents.ts';
import { HISTORY_BARS } from './state.ts';

test('a market order fills at the open of the next bar, with slippage and fee, not in the bar of its placement', () => {
  const r = rig();
  r.as({ trading: turns([buy('2')]) });
  r.run(bar(1, '90', '130', '80', '100'));
  assert.equal(r.position(), '0');
  assert.deepEqual(r.open(), ['buy 2']);
  assert.equal(r.engine.view().equity.reserved, '204.02');
  assert.equal(r.engine.view().equity.cash, '795.98');
  r.run(bar(2, '110', '130', '80', '120'));
  const { position, equity, execution } = r.engine.view();
  assert.deepEqual(position, { quantity: '2', averagePrice: '111.1', unrealizedPnl: '17.8' });
  assert.deepEqual(equity, {
    total: '1015.578',
    cash: '775.578',
    reserved: '0',
    realizedPnl: '0',
    feesPaid: '2.222',
  });
  assert.equal(execution.averageSlippageBps, '100');
  assert.deepEqual(r.recent(), [
    {
      id: 'order-1',
      strategyId: 'a',
      side: 'buy',
      kind: 'market',
      purpose: 'entry',
      quantity: '2',
      state: 'filled',
      fillPrice: '111.1',
      fee: '2.222',
      placedAt: '1970-01-01T00:01:00.000Z',
      endedAt: '1970-01-01T00:02:00.000Z',
    },
  ]);
});

test('limit orders rest until a bar trades through them, and both sides may fill in one bar', () => {
  const r = resting();
  r.run(bar(2, '100', '120', '80'));
  assert.deepEqual(r.open(), ['buy 2@80', 'sell 3@120']);
  r.run(bar(3, '100', '120.01', '79.99'));
  assert.deepEqual(r.open(), []);
  assert.equal(r.position(), '3');
  assert.equal(r.engine.view().equity.cash, '10194.8');
});

test('cash reserved by an open buy is not available to another', () => {
  const r = rig({ market: market({ balances: { quote: '100' } }) });
  r.as({ trading: turns([buyAt('60', '1'), buyAt('60', '1')]) });
  r.run(bar(1, '100'));
  assert.deepEqual(r.open(), ['buy 1@60']);
  assert.match(r.recent()[0]?.reason ?? '', /^balance: the order costs 60.6 with its fee, and 39.4 is free$/);
});

test('a buy that opens far above its reserved price uses free cash, and is rejected if there is none', () => {
  const r = rig({ market: market({ balances: { quote: '210' } }) });
  r.as({ trading: turns([buy('2')], [buy('0.5')]) });
  r.run(bar(1, '100'), bar(2, '110'));
  assert.equal(r.position(), '0');
  assert.equal(r.recent()[0]?.state, 'rejected');
  assert.match(
    r.recent()[0]?.reason ?? '',
    /^balance: at 111.1 the order costs 224.422 with its fee, and 210 is free$/,
  );
  r.run(bar(3, '115'));
  assert.equal(r.position(), '0.5');
  assert.deepEqual(r.reported, [
    ...['acc:xrpusd a placed', 'acc:xrpusd a rejected', 'acc:xrpusd a placed', 'acc:xrpusd a filled'],
  ]);
});

test('a sale whose price falls below one price step is rejected', () => {
  const r = rig({ market: rich });
  r.as({ trading: turns([sell('2')]) });
  r.run(bar(1, '100'), bar(2, '0.01'));
  assert.equal(r.position(), '4');
  assert.equal(r.recent()[0]?.reason, 'the price is below one step of 0.01');
});

test('a refused order is recorded as rejected with its reason, and a reduced one says why', () => {
  const r = rig();
  r.as({ trading: turns([buyAt('10', '9'), sell('1')]) });
  r.run(bar(1, '100'));
  const [open] = r.engine.view().openOrders;
  assert.equal(open?.reason, 'reduced: limit max_order 5');
  const [rejected] = r.recent();
  assert.equal(rejected?.state, 'rejected');
  assert.equal(rejected?.quantity, '1');
  assert.match(rejected?.reason ?? '', /^limit min_order 0.5: 0 is left after 0 held/);
  assert.equal(r.engine.view().execution.rejects, 1);
});

test('a strategy sees its own orders, its balance and the bars, and is first asked after its warm-up', () => {
  const seen: string[] = [];
  const r = rig({ market: rich });
  const trading = scripted(({ bars, position, averagePrice, freeCash, equity, openOrders }) => {
    const orders = openOrders.map(({ id, side, tag }) => `${id} ${side} ${tag}`).join(' ');
    seen.push(`${bars.length}: ${position} at ${averagePrice}, ${freeCash} of ${equity}, ${orders}`);
    const [order] = openOrders;
    if (order !== undefined) return [{ type: 'cancel', orderId: order.id }];
    return [{ ...buyAt('50', '2'), tag: 'low' }];
  }, 2);
  r.as({ trading });
  r.run(bar(1, '90'), bar(2, '100'), bar(3, '110'));
  assert.deepEqual(seen, ['2: 4 at 90, 10000 of 10400, ', '3: 4 at 90, 9899 of 10440, order-1 buy low']);
  assert.deepEqual(r.open(), []);
  assert.equal(r.recent()[0]?.reason, 'the strategy canceled it');
});

const BAD: [name: string, wants: () => readonly Intent[], error: RegExp][] = [
  ['throws', () => assert.fail('out of ideas'), /out of ideas/],
  ['wants a negative quantity', () => [buy('1'), buy('-1')], /order of -1: not a valid quantity/],
  [
    'wants a quantity that is not a number',
    () => [buy('1'), buy('NaN')],
    /order of NaN: not a valid quantity/,
  ],
  ['wants an infinite quantity', () => [buy('1'), buy('Infinity')], /not a valid quantity/],
  ['wants a limit at 0', () => [buy('1'), buyAt('0', '1')], /at 0: not a valid price/],
  [
    'cancels an order that is not open',
    () => [buy('1'), { type: 'cancel', orderId: 'x' }],
    /cancels order x/,
  ],
  ['has too many intents', () => Array(MAX_INTENTS + 1).fill(buy('1')), /has 201 intents after one bar/],
];

for (const [name, wants, error] of BAD) {
  test(`if a strategy ${name}, none of its intents apply, the bar still counts, and the error is counted`, () => {
    const r = resting();
    r.as({ trading: scripted(wants) });
    const result = r.engine.onBar(bar(2, '100', '121', '79'));
    assert.match(result.error?.message ?? '', error);
    assert.equal(r.position(), '3');
    assert.deepEqual(r.open(), []);
    assert.ok(r.engine.onBar(bar(3, '100')).error);
    assert.deepEqual(r.engine.failureCounts(), { recentRejects: 0, consecutiveErrors: 2 });
    r.as({ trading: scripted(() => []) });
    r.run(bar(4, '100'));
    assert.equal(r.engine.failureCounts().consecutiveErrors, 0);
  });
}

test('a switch resets the count of errors', () => {
  const r = rig();
  r.as({ trading: scripted(() => assert.fail('never')) });
  r.engine.onBar(bar(1, '100'));
  assert.equal(r.engine.failureCounts().consecutiveErrors, 1);
  r.as({ id: 'b', trading: turns() });
  assert.equal(r.engine.failureCounts().consecutiveErrors, 0);
});

const NO_BARS: [name: string, given: ReturnType<typeof bar>, error: RegExp][] = [
  ['comes again', bar(1, '100'), /does not come after/],
  ['comes late', bar(0, '100'), /does not come after/],
  ['has a price of 0', bar(2, '0'), /has an invalid price/],
  ['has a price of NaN', bar(2, 'NaN'), /has an invalid price/],
  ['opens above its high', bar(2, '100', '99', '98', '98'), /outside its low and high/],
  ['has an invalid time', { ...bar(2, '100'), at: Number.NaN }, /has an invalid time/],
];

for (const [name, given, error] of NO_BARS) {
  test(`a bar that ${name} is invalid: it changes only the count of errors`, () => {
    const r = resting();
    const { consecutiveErrors: _, ...before } = r.engine.snapshot();
    assert.match(r.engine.onBar(given).error?.message ?? '', error);
    const { consecutiveErrors, ...after } = r.engine.snapshot();
    assert.deepEqual(after, before);
    assert.equal(consecutiveErrors, 1);
  });
}

test('rejects count for 20 bars; orders refused by policy do not count', () => {
  const r = rig();
  r.as({ trading: turns([sell('1'), sell('1')], [sell('1')]) });
  r.run(bar(1, '100'), bar(2, '100'));
  assert.equal(r.engine.failureCounts().recentRejects, 3);
  r.run(...Array.from({ length: 18 }, (_, n) => bar(3 + n, '100')));
  assert.equal(r.engine.failureCounts().recentRejects, 3);
  r.run(bar(21, '100'));
  assert.equal(r.engine.failureCounts().recentRejects, 1);
  r.run(bar(22, '100'));
  assert.equal(r.engine.failureCounts().recentRejects, 0);
  r.as({ runState: 'paused', trading: scripted(() => [buy('1')]) });
  r.run(bar(23, '100'));
  assert.equal(r.engine.failureCounts().recentRejects, 0);
  assert.equal(r.engine.view().execution.rejects, 4);
});

test('orders beyond the position limit never degrade execution and are recorded once', () => {
  const r = rig();
  r.as({ trading: scripted(() => [buy('4')]) });
  r.run(...Array.from({ length: 60 }, (_, n) => bar(1 + n, '10')));
  assert.equal(r.position(), '8');
  assert.deepEqual(r.engine.failureCounts(), { recentRejects: 0, consecutiveErrors: 0 });
  const rejected = r.recent().filter(({ state }) => state === 'rejected');
  assert.deepEqual(
    rejected.map(({ reason }) => reason),
    ['limit min_order 0.5: 0 is left after limit max_position 8'],
  );
});

test('a remainder below the quantity step is held but not offered for sale', () => {
  const r = rig({ market: market({ balances: { quote: '1000', base: '1.23' } }) });
  r.as({ trading: scripted(({ position }) => (position.gt('0') ? [sell(position.toFixed())] : [])) });
  r.run(...Array.from({ length: 30 }, (_, n) => bar(1 + n, '10')));
  assert.equal(r.position(), '0.03');
  assert.deepEqual(r.reported, ['acc:xrpusd a placed', 'acc:xrpusd a filled']);
});

test('bars and ended orders are bounded, counts are not', () => {
  const r = rig();
  const seen: number[] = [];
  r.as({ trading: scripted(({ bars }) => [sell(`${seen.push(bars.length)}`)]) });
  r.run(...Array.from({ length: HISTORY_BARS + 30 }, (_, n) => bar(n, '100')));
  assert.equal(seen.at(-1), HISTORY_BARS);
  assert.equal(r.recent().length, 20);
  assert.deepEqual(
    [r.recent()[0]?.quantity, r.recent()[19]?.quantity],
    [`${HISTORY_BARS + 30}`, `${HISTORY_BARS + 11}`],
  );
  assert.equal(r.engine.view().execution.bars, HISTORY_BARS + 30);
  assert.deepEqual(r.engine.lastBar()?.at, bar(HISTORY_BARS + 29, '1').at);
});

test('before the first bar the value of a position is unknown', () => {
  const { position, equity, lastBar, execution } = rig({ market: rich }).engine.view();
  assert.deepEqual(position, { quantity: '4', averagePrice: null, unrealizedPnl: '0' });
  assert.equal(equity.total, '10000');
  assert.equal(lastBar, null);
  assert.equal(execution.averageSlippageBps, null);
});

test('a strategy that needs more bars than the engine keeps is refused, and the previous one continues', () => {
  const r = resting();
  const before = r.engine.snapshot();
  const trading = scripted(() => [], HISTORY_BARS + 1);
  assert.throws(
    () => r.as({ id: 'b', trading }),
    (error) => error instanceof FleetError && error.code === 'CONFIG_INVALID',
  );
  assert.deepEqual(r.engine.snapshot(), before);
});
