import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { openStore, type Store } from '@hermes-fleet/store';
import {
  applyOf,
  attemptOf,
  CONCERN,
  decided,
  failedFrom,
  GRID,
  judging,
  kindsOf,
  openSeeded,
  payload,
  SEED,
  switchTo,
  TREND,
  wantedBy,
} from '../../testing/store/harness.ts';
import type { ControlStore } from '../control/control-store.ts';
import { replay } from './replay.ts';
import { CONTROL } from './schema.ts';
import { createControlStore } from './sqlite-store.ts';

/** The chain is intact, and the concerns are those that its records lead to. */
async function assertWhole(store: ControlStore): Promise<void> {
  assert.deepEqual(await store.verify(), { ok: true, records: store.head().seq, head: store.head() });
  const concerns = store.concerns().map((concern) => [concern.id, concern] as const);
  assert.deepEqual(replay(store.audit(0, 1000)), new Map(concerns));
}

/** A store that rolls back every transaction once and runs it again, as after the failure of another one in its batch. */
async function openRepeating(t: TestContext): Promise<ControlStore> {
  const clock = manualClock();
  const log = recordingLog();
  const dir = tempDir(t, { closeFirst: () => store.close() });
  const file = join(dir, 'control.db');
  const whole = openStore({ file, schema: CONTROL, profile: 'trader', clock, ids: systemIds, log });
  const repeating: Store = {
    ...whole,
    write: (transaction, onCommitted) =>
      whole.write((db) => {
        db.run('SAVEPOINT first_run');
        transaction(db);
        db.run('ROLLBACK TO first_run');
        db.run('RELEASE first_run');
        return transaction(db);
      }, onCommitted),
  };
  const store = createControlStore(repeating, { clock, log });
  await store.seed(...SEED);
  return store;
}

test('transactions that are rolled back and run again leave one chain', deadline, async (t) => {
  const store = await openRepeating(t);
  const before = store.concern(CONCERN.id);
  assert.ok(before);
  const first = await decided(store, switchTo(TREND, { decision_id: 'd1', risk_mode: 'cautious' }));
  await store.compensate(applyOf(first), before, failedFrom(first.verdict.response));
  const heads: number[] = [];
  using _watching = store.onHead(({ seq }) => heads.push(seq));
  const second = decided(store, payload({ decision_id: 'd2', action: 'pause' }));
  const third = decided(store, payload({ decision_id: 'd3', action: 'resume' }));
  const settled = store.settle(applyOf(await second), (await second).verdict.response);
  assert.equal((await third).verdict.response.status, 'applied');
  await decided(store, payload({ decision_id: 'd4', dry_run: true }));
  await settled;
  assert.deepEqual(kindsOf(store), [
    'seed',
    'attempt applied',
    'outcome compensated',
    'attempt applied',
    'attempt applied',
    'outcome applied',
    'attempt noop',
  ]);
  assert.deepEqual(heads, [4, 5, 6, 7]);
  assert.equal(store.concern(CONCERN.id)?.rev, 4);
  await assertWhole(store);
});

test('a transaction that fails after its writes is not the base of the next one', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const text = JSON.stringify(switchTo(TREND));
  // The record is appended before its revision is refused.
  const skipsOne = (facts: Parameters<ReturnType<typeof judging>>[0]) => ({
    ...judging(text)(facts),
    next: { ...CONCERN, activeStrategyId: TREND, rev: 2 },
  });
  const failing = store.decide(attemptOf(text), wantedBy(text), skipsOne);
  const guarded = { expected_active_strategy_id: GRID };
  const others = [payload(guarded), payload({ ...guarded, action: 'resume' })].map((wish) =>
    decided(store, wish),
  );
  await assert.rejects(failing, { code: 'INTERNAL' });
  for (const { verdict } of await Promise.all(others)) assert.equal(verdict.response.status, 'applied');
  assert.deepEqual(kindsOf(store), ['seed', 'attempt applied', 'attempt applied']);
  await assertWhole(store);
});

test('a judgment sees a status and a list of strategies that have just changed', deadline, async (t) => {
  const { store } = await openSeeded(t);
  await decided(store, switchTo(TREND, { dry_run: true }));
  const codes = async (): Promise<string[]> => {
    const { verdict } = await decided(store, switchTo(TREND, { dry_run: true }));
    return verdict.response.errors.map(({ code }) => code);
  };
  const faulted = store.setStatus(TREND, 'faulted', 'a bug');
  assert.deepEqual(await codes(), ['target_not_runnable']);
  await faulted;
  const [strategies, concerns] = SEED;
  await store.seed(strategies, concerns);
  assert.deepEqual(await codes(), []);
  await store.seed(strategies, []);
  assert.deepEqual(await codes(), ['unknown_concern']);
  await store.seed(strategies, concerns);
  assert.deepEqual(await codes(), []);
});
