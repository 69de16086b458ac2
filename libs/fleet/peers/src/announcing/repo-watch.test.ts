import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { RepoState } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { NOW } from '../../testing/index.ts';
import { createRepoWatch } from './repo-watch.ts';

function setUp(t: TestContext) {
  const clock = manualClock(NOW);
  const facts = { state: { branch: 'main', clean: true } as RepoState, fails: false, slowMs: 0 };
  const warnings: number[] = [];
  const problems: unknown[] = [];
  const seen = { changes: 0, looks: 0 };
  const watch = createRepoWatch({
    measure: async () => {
      seen.looks += 1;
      clock.advance(facts.slowMs);
      if (facts.fails) throw new Error('git');
      return facts.state;
    },
    onChange: () => {
      seen.changes += 1;
    },
    clock,
    log: { ...silentLog, warn: () => void warnings.push(1), error: (told) => void problems.push(told) },
  });
  t.after(() => watch.stop());
  const after = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let i = 0; i < 5; i += 1) await new Promise(setImmediate);
  };
  return { watch, facts, seen, warnings, problems, after };
}

it('a change is noticed within seconds, without a task, and reported once', async (t) => {
  const { watch, facts, seen, problems, after } = setUp(t);
  await watch.measure();
  seen.changes = 0;
  watch.start();
  watch.start();
  await after(3_000);
  assert.deepEqual([seen.looks, seen.changes], [2, 0]);
  facts.state = { branch: 'main', clean: false, uncommitted: 'a.txt' };
  await after(3_000);
  await after(3_000);
  assert.deepEqual([seen.looks, seen.changes, watch.last().clean], [4, 1, false]);
  facts.state = { branch: 'other', clean: false, uncommitted: 'a.txt' };
  await after(3_000);
  assert.equal(seen.changes, 2);
  facts.state = { branch: 'other', clean: false, uncommitted: 'a.txt', inUse: true };
  await after(3_000);
  assert.equal(seen.changes, 3);
  facts.state = { branch: 'other', clean: false, uncommitted: 'a.txt', problem: 'git cannot read it' };
  await after(3_000);
  assert.deepEqual([seen.changes, problems], [4, [{ problem: 'git cannot read it' }]]);
  facts.state = { branch: 'other', clean: false, uncommitted: 'a.txt' };
  await after(3_000);
  assert.equal(seen.changes, 5);
  watch.stop();
  await after(60_000);
  assert.equal(seen.looks, 8);
});

it('a change of the repository that contexts start from is reported', async (t) => {
  const { watch, facts, seen } = setUp(t);
  await watch.measure();
  seen.changes = 0;
  for (const baseClean of [true, false, false]) {
    facts.state = { branch: 'main', clean: true, baseClean };
    await watch.measure();
  }
  assert.equal(seen.changes, 2);
});

it('a dirty tree that a task has left counts as clean until it is measured, at once', async (t) => {
  const { watch, facts, seen, after } = setUp(t);
  watch.start();
  assert.equal(watch.leave(), false, 'a clean tree');
  facts.state = { branch: 'main', clean: false, uncommitted: 'a.txt', inUse: true };
  await watch.measure();
  seen.changes = 0;
  assert.deepEqual([watch.leave(), watch.last()], [true, { branch: 'main', clean: true }]);
  await after(0);
  assert.deepEqual([watch.last().clean, seen.changes], [false, 1]);
});

it('measureQuietly does not report a change', async (t) => {
  const { watch, facts, seen } = setUp(t);
  await watch.measure();
  seen.changes = 0;
  facts.state = { branch: 'main', clean: false, uncommitted: 'a.txt' };
  assert.equal((await watch.measureQuietly()).clean, false);
  assert.equal((await watch.measure()).clean, false);
  assert.equal(seen.changes, 0);
});

it('a slow repository is measured less often, and a failed measurement is repeated', async (t) => {
  const { watch, facts, seen, warnings, after } = setUp(t);
  watch.start();
  facts.slowMs = 1_000;
  await after(3_000);
  assert.equal(seen.looks, 1);
  await after(19_000);
  assert.equal(seen.looks, 1);
  facts.fails = true;
  await after(1_000);
  await after(20_000);
  await after(20_000);
  assert.deepEqual([seen.looks >= 3, warnings.length], [true, 1]);
  facts.fails = false;
  facts.state = { branch: 'main', clean: false, uncommitted: 'a.txt' };
  await after(20_000);
  assert.equal(watch.last().clean, false);
});

it('a machine that was suspended during a measurement measures again within minutes', async (t) => {
  const { watch, facts, seen, after } = setUp(t);
  watch.start();
  facts.slowMs = 8 * 3_600_000;
  await after(3_000);
  facts.slowMs = 0;
  assert.equal(seen.looks, 1);
  await after(300_000);
  assert.equal(seen.looks, 2);
});
