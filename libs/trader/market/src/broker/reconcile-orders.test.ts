import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bar,
  buy,
  buyAt,
  market,
  protective,
  resting,
  rig,
  scripted,
  sell,
  sellAt,
  turns,
} from '../../testing/rig.ts';

test('pause cancels entries at once and keeps position and exits; no entry is placed until resume', () => {
  const r = resting();
  assert.deepEqual(r.as({ runState: 'paused', trading: scripted(() => [buy('1')]) }), { canceledOrders: 1 });
  assert.deepEqual(r.open(), ['sell 3@120']);
  assert.equal(r.recent()[0]?.reason, 'paused: no entries');
  r.run(bar(2, '100'), bar(3, '100', '121', '79'));
  assert.equal(r.position(), '1');
  const refused = r.recent().filter(({ state }) => state === 'rejected');
  assert.deepEqual(
    refused.map(({ reason }) => reason),
    ['paused: no entries'],
    'what a pause refuses at every bar is told once',
  );
  assert.deepEqual(r.as({ runState: 'running' }), { canceledOrders: 0 });
  r.run(bar(4, '100'), bar(5, '100'));
  assert.equal(r.position(), '2');
});

test('cautious halves each open entry once, and every new entry', () => {
  const r = resting();
  assert.deepEqual(r.as({ riskMode: 'cautious', trading: turns([buy('4')]) }), { canceledOrders: 0 });
  assert.deepEqual(r.open(), ['buy 1@80', 'sell 3@120']);
  assert.equal(r.engine.view().openOrders[0]?.reason, 'reduced: risk mode cautious halves entries');
  assert.equal(r.engine.view().equity.reserved, '80.8');
  for (const riskMode of ['cautious', 'normal', 'cautious'] as const) r.as({ riskMode });
  assert.deepEqual(r.open(), ['buy 1@80', 'sell 3@120']);
  r.run(bar(2, '100'), bar(3, '100'));
  assert.equal(r.position(), '6');
});

test('cautious cancels an open entry whose half is too small', () => {
  const r = rig();
  r.as({ trading: turns([buyAt('80', '0.9')]) });
  r.run(bar(1, '100'));
  assert.deepEqual(r.as({ riskMode: 'cautious' }), { canceledOrders: 1 });
  assert.match(r.recent()[0]?.reason ?? '', /cautious reduces it to 0.4, below the limit min_order 0.5/);
});

test('reduce_only cancels entries, and from then on the position only shrinks', () => {
  const r = resting();
  const trading = scripted(() => [buy('1'), sell('9')]);
  assert.deepEqual(r.as({ riskMode: 'reduce_only', trading }), { canceledOrders: 1 });
  r.run(bar(2, '100'));
  assert.deepEqual(r.open(), ['sell 3@120', 'sell 1']);
  r.run(bar(3, '100', '121', '79'), bar(4, '50'));
  assert.equal(r.position(), '0');
});

test('halted cancels everything and accepts only cancellations', () => {
  const r = resting();
  const trading = scripted(() => [buy('1'), sell('1')]);
  assert.deepEqual(r.as({ riskMode: 'halted', trading }), { canceledOrders: 2 });
  r.run(bar(2, '100', '200', '10'), bar(3, '100', '200', '10'));
  assert.deepEqual(r.open(), []);
  assert.equal(r.position(), '4');
  assert.equal(r.recent()[0]?.reason, 'risk mode halted: no orders');
});

test('halted keeps open exits where the market says so, and accepts no other order', () => {
  const r = resting(protective);
  const trading = scripted(() => [buy('1'), sell('1')]);
  assert.deepEqual(r.as({ riskMode: 'halted', trading }), { canceledOrders: 1 });
  assert.deepEqual(r.open(), ['sell 3@120']);
  r.run(bar(2, '100', '110', '10'));
  assert.deepEqual([r.open(), r.position()], [['sell 3@120'], '4']);
  r.run(bar(3, '100', '121'));
  assert.deepEqual([r.open(), r.position()], [[], '1']);
  assert.deepEqual(r.as({ riskMode: 'halted', strategy: undefined }), { canceledOrders: 0 });
});

test('an exit that halted keeps is not canceled by its strategy, whose replacement would be refused', () => {
  const r = resting(protective);
  const trading = scripted(({ openOrders }) => [
    ...openOrders.map(({ id }) => ({ type: 'cancel' as const, orderId: id })),
    sell('4'),
  ]);
  r.as({ riskMode: 'halted', trading });
  r.run(bar(2, '90'), bar(3, '80'));
  assert.deepEqual([r.open(), r.position()], [['sell 3@120'], '4']);
  r.as({ riskMode: 'reduce_only', trading });
  r.run(bar(4, '80'), bar(5, '80'));
  assert.equal(r.position(), '0');
});

test('a halt that keeps exits cancels them when no strategy is active', () => {
  const r = resting(protective);
  assert.deepEqual(r.as({ riskMode: 'halted', strategy: undefined }), { canceledOrders: 2 });
});

test('an exit of the whole position is sold at one price, however large it is', () => {
  const r = rig({ market: market({ balances: { quote: '0', base: '7' } }) });
  r.as({ trading: scripted(({ position }) => (position.isZero() ? [] : [sell('7')])) });
  r.run(bar(1, '100'), bar(2, '90'), bar(3, '80'), bar(4, '70'));
  assert.equal(r.position(), '0');
  const sold = r.recent().filter(({ state }) => state === 'filled');
  assert.deepEqual(
    sold.map(({ quantity, fillPrice }) => `${quantity}@${fillPrice}`),
    ['7@89.1'],
  );
});

test('a switch cancels the open orders of the previous strategy and hands its position over', () => {
  const r = resting();
  const trading = scripted(() => [sellAt('130', '4')]);
  assert.deepEqual(r.as({ id: 'b', trading }), { canceledOrders: 2, inheritedPosition: '4' });
  assert.equal(r.recent()[0]?.reason, 'switched to strategy b');
  r.run(bar(2, '100', '125', '75'));
  assert.deepEqual(r.open(), ['sell 4@130']);
  assert.equal(r.position(), '4');
  r.run(bar(3, '135'));
  assert.equal(r.position(), '0');
  assert.equal(r.reported.at(-1), 'acc:xrpusd b rejected');
});

test('a switch while paused starts the new strategy paused', () => {
  const r = resting();
  r.as({ id: 'b', trading: scripted(() => [buy('1'), sell('1')]), runState: 'paused' });
  r.run(bar(2, '100'));
  assert.deepEqual(r.open(), ['sell 1']);
});

test('without an active strategy no order is open and the position is held', () => {
  const r = resting();
  assert.deepEqual(r.as({ strategy: undefined }), { canceledOrders: 2 });
  r.run(bar(2, '100', '200', '10'));
  assert.equal(r.position(), '4');
  assert.deepEqual(r.open(), []);
});

test('configuring the same state again changes nothing', () => {
  for (const o of [{ runState: 'paused' }, { riskMode: 'cautious' }, { riskMode: 'halted' }, {}] as const) {
    const r = resting();
    r.as(o);
    const before = r.engine.snapshot();
    assert.deepEqual(r.as(o), { canceledOrders: 0 });
    assert.deepEqual(r.engine.snapshot(), before);
  }
});
