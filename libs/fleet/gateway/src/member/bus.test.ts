import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Log } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { createMetrics } from '@hermes-fleet/service';
import { flushAndClose, readBacklog } from './bus.ts';

function publisher(flushed: boolean, calls: string[]): OutboxPublisher {
  return {
    state: () => ({ connected: flushed, lastError: undefined }),
    flush: async () => {
      calls.push('flushed');
      return flushed;
    },
    close: async () => void calls.push('closed'),
  };
}

test('every outbox is flushed before any connection is closed, and unpublished events are logged', async () => {
  const [calls, warned]: [string[], string[]] = [[], []];
  const log: Log = { ...silentLog, warn: (_fields, text) => void warned.push(text) };
  await flushAndClose([publisher(true, calls), undefined, publisher(true, calls)], log);
  assert.deepEqual([calls, warned], [['flushed', 'flushed', 'closed', 'closed'], []]);
  await flushAndClose([publisher(true, calls), publisher(false, calls)], log);
  assert.deepEqual(warned, ['events are left in the outbox for the next start']);
  assert.equal(calls.length, 8);
  await flushAndClose([undefined], log);
});

test('the backlog of a process is the sum of its outboxes, as old as the oldest event, and its missing events are those of all publishers', async () => {
  const metrics = createMetrics({ profile: 'trader', peers: [], callers: [], defaultMetrics: false });
  const outbox = (count: number, oldestAgeMs: number) => ({ backlog: () => ({ count, oldestAgeMs }) });
  const bus = (missing: number) => ({ state: () => ({ connected: true, lastError: undefined, missing }) });
  readBacklog(metrics, [outbox(2, 500), outbox(3, 1_500)], [bus(4), undefined, bus(5)]);
  const page = await metrics.registry.metrics();
  for (const line of ['outbox_backlog 5', 'outbox_oldest_age_seconds 1.5', 'outbox_missing_events 9'])
    assert.match(page, new RegExp(`^fleet_${line}$`, 'm'));
});
