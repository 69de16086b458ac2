import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Log } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { flushAndClose } from './bus.ts';

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
