import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock, Log } from '@hermes-fleet/protocol';
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

/** Finishes tasks whose numbers at each look these are; the number of looks, and what was logged. */
async function finish(counts: readonly number[], drainMs: number) {
  const left = [...counts];
  const warned: unknown[] = [];
  const log: Log = { ...silentLog, warn: (fields) => void warned.push(fields) };
  const drain = () => ({ running: left.shift() ?? 0, waiting: 0 });
  const clock = { ...sleeper(), now: () => 0, timer: () => assert.fail() };
  await finishTasks({ gateway: { drain }, clock, log }, drainMs);
  return { looks: counts.length - left.length, warned };
}

test('a member that stops waits until its last task has ended, and no longer', async () => {
  assert.deepEqual(await finish([2, 1, 0, 9], 60_000), { looks: 3, warned: [] });
});

test('tasks that do not end in time are left, and the log has their number', async () => {
  const { looks, warned } = await finish(
    Array.from({ length: 50 }, () => 3),
    1_000,
  );
  assert.deepEqual([looks, warned], [6, [{ running: 3, waiting: 0 }]]);
});
