import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import {
  CONCERN,
  decided,
  GRID,
  kindsOf,
  OTHER,
  OTHERS_GRID,
  openSeeded,
  payload,
  SEED,
  SHIELD,
  STRATEGIES,
  strategy,
  switchTo,
  TREND,
} from '../../testing/store/harness.ts';
import { replay } from './replay.ts';

test('the first start writes the listed entries, later starts only the differences', deadline, async (t) => {
  const { store } = await openSeeded(t);
  assert.deepEqual(
    store.concerns().map(({ id, rev }) => [id, rev]),
    [
      [OTHER.id, 0],
      [CONCERN.id, 0],
    ],
  );
  assert.deepEqual(new Set(store.strategies()), new Set([...STRATEGIES, OTHERS_GRID]));
  const reordered = strategy({ params: { levels: 5 } });
  await store.seed([...STRATEGIES.slice(1), OTHERS_GRID, reordered], [OTHER, CONCERN]);
  assert.deepEqual(kindsOf(store), ['seed']);
  const [{ record } = { record: {} }] = store.audit(0, 1);
  assert.deepEqual(Object.keys(record).sort(), ['at', 'concerns', 'kind', 'removed', 'strategies']);
});

test('active strategy, run state and risk mode stay; strategies follow the list', deadline, async (t) => {
  const { store } = await openSeeded(t);
  await decided(store, switchTo(TREND, { risk_mode: 'cautious' }));
  await decided(store, payload());
  await store.setStatus(SHIELD, 'faulted', 'it threw ten times');
  const before = store.concern(CONCERN.id);
  const [grid = strategy(), trend = strategy(), shield = strategy()] = STRATEGIES;
  const wider = { ...grid, params: { levels: 9 } };
  await store.seed([wider, trend, shield], [CONCERN, OTHER]);
  assert.deepEqual(store.concern(CONCERN.id), before);
  assert.deepEqual(store.strategy(GRID), wider);
  assert.equal(store.strategy(SHIELD)?.status, 'enabled');
  assert.equal(store.strategy(OTHERS_GRID.id)?.status, 'disabled');
  assert.equal(store.strategy(TREND)?.status, 'enabled');
});

test('a concern that is no longer listed is hidden, and returns unchanged', deadline, async (t) => {
  const { store } = await openSeeded(t);
  await decided(store, payload());
  await store.seed([...STRATEGIES, OTHERS_GRID], [OTHER]);
  assert.equal(store.concern(CONCERN.id), undefined);
  assert.equal((await decided(store, payload())).verdict.response.errors[0]?.code, 'unknown_concern');
  assert.deepEqual(store.concerns(), [...replay(store.audit(0, 100)).values()]);
  await store.seed(...SEED);
  assert.deepEqual(store.concern(CONCERN.id), { ...CONCERN, runState: 'paused', rev: 1 });
  assert.deepEqual(replay(store.audit(0, 100)).get(CONCERN.id), store.concern(CONCERN.id));
});

test('an active strategy can neither be removed nor move to another market', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const moved = strategy({ marketSymbol: 'btcusd' });
  const refused = store.seed([moved, ...STRATEGIES.slice(1), OTHERS_GRID], [CONCERN, OTHER]);
  await assert.rejects(refused, {
    code: 'CONFIG_INVALID',
    message: /is active in concern .* is of .*:btcusd/,
  });
  const missing = {
    ...CONCERN,
    id: 'a:b',
    accountId: 'a',
    marketSymbol: 'b',
    activeStrategyId: 'none',
  };
  await assert.rejects(store.seed(STRATEGIES, [missing]), {
    code: 'CONFIG_INVALID',
    message: /does not exist/,
  });
  assert.deepEqual(store.strategy(GRID), strategy());
  assert.deepEqual(kindsOf(store), ['seed']);
});

test('a status is recorded with its reason, once', deadline, async (t) => {
  const { store } = await openSeeded(t);
  await store.setStatus(GRID, 'faulted', 'it threw ten times');
  await store.setStatus(GRID, 'faulted', 'it threw again');
  assert.equal(store.strategy(GRID)?.status, 'faulted');
  assert.deepEqual(kindsOf(store), ['seed', 'status faulted']);
  const { at, ...record } = store.audit(1, 1)[0]?.record ?? {};
  assert.deepEqual(record, {
    kind: 'status',
    strategy_id: GRID,
    status: 'faulted',
    reason: 'it threw ten times',
  });
  assert.equal(at, '2026-01-01T00:00:00.000Z');
  await assert.rejects(store.setStatus('none', 'enabled', ''), { code: 'NOT_FOUND' });
});
