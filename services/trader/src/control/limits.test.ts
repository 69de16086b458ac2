import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import fc from 'fast-check';
import { createLimiter } from './limits.ts';

const clock = (now = 0) => ({
  now: () => now,
  advance: (ms: number) => {
    now += ms;
  },
});

test('for any sequence, at most burst plus rate are admitted, and a pause always has its share', () => {
  const limits = { perSecond: 5, burst: 20, keptForPause: 4 };
  const step = fc.record({ ms: fc.integer({ min: 0, max: 400 }), isPause: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const time = clock();
      const limiter = createLimiter(limits, time);
      let passed = 0;
      let others = 0;
      for (const { ms, isPause } of steps) {
        time.advance(ms);
        if (limiter.takeToken('a', 'c', isPause) > 0) continue;
        passed += 1;
        if (!isPause) others += 1;
      }
      assert.ok(passed <= limits.burst + (time.now() / 1000) * limits.perSecond);
      assert.ok(others <= limits.burst - limits.keptForPause + (time.now() / 1000) * limits.perSecond);
    }),
  );
});

test('a retry after the returned time is admitted', () => {
  const time = clock();
  const limiter = createLimiter({ perSecond: 0.5, burst: 2, keptForPause: 1 }, time);
  assert.equal(limiter.takeToken('a', 'c', false), 0);
  const wait = limiter.takeToken('a', 'c', false);
  assert.equal(wait, 2);
  time.advance(wait * 1000);
  assert.equal(limiter.takeToken('a', 'c', false), 0);
});

test('a clock that is set back neither adds nor removes tokens', () => {
  const time = clock(10_000);
  const limiter = createLimiter({ perSecond: 1, burst: 2, keptForPause: 0 }, time);
  for (const expected of [0, 0]) assert.equal(limiter.takeToken('a', 'c', false), expected);
  time.advance(-9_000);
  assert.equal(limiter.takeToken('a', 'c', false), 1);
  time.advance(1_000);
  assert.equal(limiter.takeToken('a', 'c', false), 0);
});

test('buckets are bounded, and a busy one is kept', () => {
  const limiter = createLimiter({ perSecond: 0.001, burst: 1, keptForPause: 0 }, clock(), 3);
  assert.equal(limiter.takeToken('busy', 'c', false), 0);
  for (let count = 0; count < 100; count += 1) {
    assert.equal(limiter.takeToken(`caller ${count}`, 'c', false), 0);
    assert.ok(limiter.takeToken('busy', 'c', false) > 0);
  }
  assert.equal(limiter.takeToken('caller 0', 'c', false), 0);
});

test('limits that admit nothing are refused', () => {
  for (const limits of [
    { perSecond: 0, burst: 10, keptForPause: 0 },
    { perSecond: 1, burst: 5, keptForPause: 5 },
    { perSecond: Number.NaN, burst: 5, keptForPause: 0 },
  ])
    assert.throws(
      () => createLimiter(limits, clock()),
      (error) => error instanceof FleetError && error.code === 'CONFIG_INVALID',
    );
});
