import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bar, buyAt, counting, market, resting, rig, scripted, sellAt, turns } from '../../testing/rig.ts';

const FLAT = market({
  balances: { quote: '10000', base: '4' },
  limits: { max_order: '1', max_position: '20', max_open_orders: 5, min_order: '0.5' },
  risk: { halted: 'flatten' },
});

test('halted with flatten cancels all orders, and sells the whole position at the next open, at once', () => {
  const r = resting(FLAT);
  assert.deepEqual(r.open(), ['buy 1@80', 'sell 3@120']);
  assert.deepEqual(r.as({ riskMode: 'halted', trading: scripted(() => [buyAt('90', '1')]) }), {
    canceledOrders: 2,
  });
  r.run(bar(2, '100'));
  assert.deepEqual(r.open(), ['sell 4']);
  r.run(bar(3, '90'), bar(4, '90'));
  assert.deepEqual([r.position(), r.open()], ['0', []]);
  // At the open of 90 with 1 % slippage, in one order, although max_order is 1.
  assert.deepEqual(
    r
      .recent()
      .slice(0, 1)
      .map(({ quantity, fillPrice, purpose }) => [quantity, fillPrice, purpose]),
    [['4', '89.1', 'exit']],
  );
});

test('a restart, a pause and a position below the smallest order are sold too', () => {
  const ids = counting();
  const r = rig({ market: FLAT, ids });
  r.as({ trading: turns([sellAt('120', '3.6')]) });
  r.run(bar(1, '100'), bar(2, '100', '121'));
  assert.equal(r.position(), '0.4');
  r.as({ riskMode: 'halted', runState: 'paused' });
  r.run(bar(3, '100'));
  const again = rig({ market: FLAT, ids, snapshot: JSON.parse(JSON.stringify(r.engine.snapshot())) });
  assert.deepEqual(again.as({ riskMode: 'halted', runState: 'paused', trading: turns() }), {
    canceledOrders: 0,
  });
  again.run(bar(4, '100'));
  assert.equal(again.position(), '0');
});

test('the other policies keep the position', () => {
  for (const halted of ['cancel_all', 'keep_protective'] as const) {
    const r = resting(market({ balances: { quote: '10000', base: '4' }, risk: { halted } }));
    r.as({ riskMode: 'halted' });
    r.run(bar(2, '100'), bar(3, '90'));
    assert.equal(r.position(), '4', halted);
  }
});
