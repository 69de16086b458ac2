import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Log } from '@hermes-fleet/protocol';
import { flushAndClose } from './bus.ts';

function publisher(flushed: boolean, said: string[]): OutboxPublisher {
  return {
    state: () => ({ connected: flushed, lastError: undefined }),
    flush: async () => {
      said.push('flushed');
      return flushed;
    },
    close: async () => void said.push('closed'),
  };
}

test('every outbox is flushed before any connection is closed; what is left is told', async () => {
  const [said, warned]: [string[], string[]] = [[], []];
  const log: Log = { debug() {}, info() {}, error() {}, warn: (_fields, text) => void warned.push(text) };
  await flushAndClose([publisher(true, said), undefined, publisher(true, said)], log);
  assert.deepEqual([said, warned], [['flushed', 'flushed', 'closed', 'closed'], []]);
  await flushAndClose([publisher(true, said), publisher(false, said)], log);
  assert.deepEqual(warned, ['events are left in the outbox for the next start']);
  assert.equal(said.length, 8);
  await flushAndClose([undefined], log);
});
