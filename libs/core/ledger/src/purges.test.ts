import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, hasCode, manualClock } from '@hermes-fleet/protocol/testing';
import { createPurges } from './purges.ts';

/** Purges of a store of which every rewrite takes 100 ms. */
function setup() {
  const clock = manualClock();
  const state = { steps: [] as string[], isRead: false, isFull: false };
  const purges = createPurges({
    store: {
      rewrite() {
        if (state.isFull) throw new Error('no space');
        state.steps.push('rewrite');
        clock.advance(100);
      },
      emptyLog() {
        if (state.isRead) throw new Error('another process reads the file');
        state.steps.push('empty');
      },
    },
    clock,
    onPurged: async () => void state.steps.push('purged'),
  });
  const rewrites = (): number => state.steps.filter((step) => step === 'rewrite').length;
  return { clock, state, purges, rewrites };
}

test(
  'purges that are asked for together are one, and the next keeps a distance that grows with its duration',
  deadline,
  async () => {
    const { clock, state, purges, rewrites } = setup();
    await Promise.all([purges.purge(), purges.purge(), purges.purge()]);
    assert.deepEqual(state.steps, ['empty', 'rewrite', 'empty', 'purged']);
    purges.erased();
    const later = Promise.all([purges.purge(), purges.purge()]);
    await clock.asleep(1);
    clock.advance(1_999);
    assert.equal(rewrites(), 1);
    clock.advance(1);
    await later;
    assert.equal(rewrites(), 2);
    purges.erased();
    const stopped = purges.purge();
    await clock.asleep(1);
    purges.stop();
    await assert.rejects(stopped, hasCode('SHUTTING_DOWN'));
    assert.equal(rewrites(), 2);
  },
);

test('a purge that fails is reported, and the next is tried', deadline, async () => {
  const { state, purges } = setup();
  state.isFull = true;
  await assert.rejects(purges.purge(), /no space/);
  state.isFull = false;
  state.steps = [];
  await purges.purge();
  assert.deepEqual(state.steps, ['empty', 'rewrite', 'empty', 'purged']);
});

test(
  'a file is rewritten only while its log can be emptied, and once for what was erased',
  deadline,
  async () => {
    const { clock, state, purges } = setup();
    state.isRead = true;
    await assert.rejects(purges.purge(), /another process/);
    assert.deepEqual(state.steps, []);
    state.isRead = false;
    await purges.purge();
    clock.advance(2_000);
    state.steps = [];
    await purges.purge();
    assert.deepEqual(state.steps, ['empty', 'purged'], 'nothing was erased in between');
    purges.erased();
    state.steps = [];
    await purges.purge();
    assert.deepEqual(state.steps, ['empty', 'rewrite', 'empty', 'purged']);
  },
);

test('a reader that comes during a rewrite does not make it repeat', deadline, async () => {
  const clock = manualClock();
  const state = { rewrites: 0, isRead: false };
  const store = {
    rewrite() {
      state.rewrites += 1;
      state.isRead = true;
    },
    emptyLog() {
      if (state.isRead) throw new Error('another process reads the file');
    },
  };
  const purges = createPurges({ store, clock, onPurged: async () => undefined });
  for (const _time of [1, 2, 3]) await assert.rejects(purges.purge(), /another process/);
  state.isRead = false;
  await purges.purge();
  assert.equal(state.rewrites, 1);
});
