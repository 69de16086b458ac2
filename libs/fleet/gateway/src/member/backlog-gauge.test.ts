import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { startBacklogGauge } from './backlog-gauge.ts';

test('the gauge sums the backlogs of all outboxes every second until it is disposed', () => {
  let due: (() => void) | undefined;
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => Promise.reject(new Error('not used')),
    timer(fn, ms) {
      assert.equal(ms, 1_000);
      due = fn;
      return {
        [Symbol.dispose]() {
          due = undefined;
        },
      };
    },
  };
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, text) => void errors.push(text) };
  const shown: { count: number; oldestAgeS: number; missing?: number }[] = [];
  let isBroken = false;
  const outboxes = [
    { backlog: () => ({ count: 2, oldestAgeMs: 500 }) },
    {
      backlog() {
        if (isBroken) throw new Error('disk');
        return { count: 3, oldestAgeMs: 7_000 };
      },
    },
  ];
  const gauge = startBacklogGauge({
    outboxes,
    publishers: [undefined, { state: () => ({ connected: true, lastError: undefined, missing: 4 }) }],
    clock,
    log,
    metrics: { outbox: (backlog) => void shown.push(backlog) },
  });
  assert.deepEqual(shown, [{ count: 5, oldestAgeS: 7, missing: 4 }]);
  isBroken = true;
  due?.();
  assert.deepEqual([shown.length, errors], [1, ['the backlog of the outbox cannot be measured']]);
  isBroken = false;
  due?.();
  assert.equal(shown.length, 2);
  gauge[Symbol.dispose]();
  assert.equal(due, undefined);
});
