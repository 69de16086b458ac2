import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { finishTasks } from './shutdown-steps.ts';

/** Time passes only while somebody sleeps. */
function sleeper(): Pick<Clock, 'monotonic' | 'sleep'> {
  let now = 0;
  return {
    monotonic: () => now,
    sleep: async (ms) => {
      now += ms;
    },
  };
}

/** Finishes tasks whose numbers at each look these are; the number of looks, what was logged, and how long it took. */
async function finish(counts: readonly number[], drainMs: number, openUntilMs = 0) {
  const left = [...counts];
  const warned: unknown[] = [];
  const log: Log = { ...silentLog, warn: (fields) => void warned.push(fields) };
  const drain = () => ({ running: left.shift() ?? 0, waiting: 0 });
  const clock = { ...sleeper(), now: () => 0, timer: () => assert.fail() };
  const a2a = { openCalls: () => (clock.monotonic() < openUntilMs ? 1 : 0) };
  await finishTasks({ gateway: { drain }, a2a, clock, log }, drainMs);
  return { looks: counts.length - left.length, warned, ms: clock.monotonic() };
}

test('a member that stops waits until its last task has ended, and serves on for a second', async () => {
  assert.deepEqual(await finish([2, 1, 0, 9], 60_000), { looks: 3, warned: [], ms: 1_400 });
});

test('callers that still read how their tasks ended have at most 5 seconds, within the drain', async () => {
  assert.equal((await finish([1, 0], 60_000, 3_500)).ms, 3_600);
  assert.equal((await finish([1, 0], 60_000, Infinity)).ms, 5_200);
  assert.equal((await finish([1, 0], 2_000, Infinity)).ms, 2_000);
});

test('tasks that do not end in time are left, and the log has their number', async () => {
  const { looks, warned } = await finish(
    Array.from({ length: 50 }, () => 3),
    1_000,
  );
  assert.deepEqual([looks, warned], [6, [{ running: 3, waiting: 0 }]]);
});
