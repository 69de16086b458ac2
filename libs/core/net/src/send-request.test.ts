import assert from 'node:assert/strict';
import { openAsBlob, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { thrownBy } from '../testing/fetching.ts';
import { startServer } from '../testing/server.ts';
import { createClient } from './client.ts';

const at = (port: number, path = '/'): string => `http://127.0.0.1:${port}${path}`;

test('a file is sent as it is read; the request ends with its signal, and says when the file has changed meanwhile', async (t) => {
  const file = join(tempDir(t, { prefix: 'fleet-net-' }), 'file');
  const text = 'x'.repeat(1_000_000);
  writeFileSync(file, text);
  const begun = Promise.withResolvers<void>();
  const { port } = await startServer(t, async (request, response) => {
    begun.resolve();
    if (request.url === '/') response.end(String((await textOf(request)) === text));
  });
  const send = createClient('configured');
  const post = async (path: string, signal?: AbortSignal) =>
    send(at(port, path), { method: 'POST', body: await openAsBlob(file), signal: signal ?? null });
  assert.equal(await (await post('/')).text(), 'true');
  const stop = new AbortController();
  const sent = post('/silent', stop.signal);
  await begun.promise;
  stop.abort(new Error('stopped'));
  await assert.rejects(sent, { message: 'stopped' });
  const blob = await openAsBlob(file);
  writeFileSync(file, 'shorter');
  const changed = await thrownBy(send(at(port), { method: 'POST', body: blob }));
  assert.equal((changed.cause as Error).name, 'NotReadableError');
});
