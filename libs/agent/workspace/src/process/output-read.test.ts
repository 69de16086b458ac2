import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { outputRead } from './run-command.ts';

test('what a pipe holds is read, also if its time is over before the event loop comes to it', async (t) => {
  const path = join(tempDir(t), 'pipe');
  const server = createServer().listen(path);
  t.after(() => server.close());
  const writer = connect(path);
  const [reader] = await once(server, 'connection');
  t.after(() => writer.destroy());
  let bytes = 0;
  reader.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  writer.write(Buffer.alloc(60_000));
  const isOpen = new Promise(() => undefined);
  await outputRead(isOpen, { sleep: async () => undefined });
  assert.equal(bytes, 60_000);
});

test('closed pipes end the wait', async () => {
  await outputRead(Promise.resolve(), { sleep: (_ms, signal) => systemClock.sleep(60_000, signal) });
});
