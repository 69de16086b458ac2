import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import {
  bar,
  buyAt,
  counting,
  market,
  resting,
  rich,
  rig,
  scripted,
  sell,
  turns,
} from '../../testing/rig.ts';

test('a restored engine has its orders, asks no strategy until it is configured, and reports no inherited position', () => {
  const ids = counting();
  const r = resting();
  const restored = rig({ market: rich, ids, snapshot: JSON.parse(JSON.stringify(r.engine.snapshot())) });
  assert.deepEqual(restored.engine.view(), r.engine.view());
  restored.run(bar(2, '100', '121'));
  assert.equal(restored.position(), '1');
  assert.deepEqual(restored.as({ trading: scripted(() => [sell('1')]) }), { canceledOrders: 0 });
  restored.run(bar(3, '100'));
  assert.deepEqual(restored.open(), ['buy 2@80', 'sell 1']);
});

test('balances of trader.yaml are opening balances only', () => {
  const r = resting();
  const changed = market({ balances: { quote: '1', base: '0' } });
  const restored = rig({ market: changed, snapshot: r.engine.snapshot() });
  assert.deepEqual(restored.engine.view().equity, r.engine.view().equity);
});

test('a raised fee does not overdraw cash that was reserved before', () => {
  const poor = rig({ market: market({ balances: { quote: '80.8' } }) });
  poor.as({ trading: turns([buyAt('80', '1')]) });
  poor.run(bar(1, '100'));
  const dearer = market({ balances: { quote: '80.8' }, fees_bps: '200' });
  const restored = rig({ market: dearer, snapshot: poor.engine.snapshot() });
  restored.run(bar(2, '100', '100', '79'));
  assert.equal(restored.position(), '0');
  assert.match(
    restored.recent()[0]?.reason ?? '',
    /^balance: at 80 the order costs 81.6 with its fee, and 80.8 is free$/,
  );
});

test('an engine that is older than its books, or lost, goes on above their last entry', () => {
  const snapshot = resting().engine.snapshot();
  const saved = Number(snapshot['entries']);
  const older = rig({ market: rich, snapshot, lastEntry: saved + 5 });
  assert.deepEqual(
    older.engine.entries().map((entry) => [entry.n, entry.kind, 'event' in entry && entry.event]),
    [[saved + 6, 'account', 'carried']],
  );
  const lost = rig({ market: rich, lastEntry: saved });
  lost.run(bar(1, '100'));
  const [first] = lost.engine.entries();
  assert.deepEqual(
    [first?.n, first?.kind, first && 'event' in first && first.event],
    [saved + 1, 'account', 'opened'],
  );
  const same = rig({ market: rich, snapshot, lastEntry: saved });
  assert.deepEqual(same.engine.entries(), []);
});

test('an invalid snapshot is reported, and no engine starts from it', () => {
  const whole = resting().engine.snapshot();
  for (const snapshot of [
    {},
    { ...whole, version: 3 },
    { ...whole, version: 1 },
    { ...whole, extra: 1 },
    { ...whole, account: { cash: '1' } },
  ])
    assert.throws(
      () => rig({ snapshot }),
      (error) => error instanceof FleetError && error.code === 'STORE_UNAVAILABLE' && !error.retryable,
    );
});
