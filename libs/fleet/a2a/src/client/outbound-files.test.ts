import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { finish } from '../../testing/script.ts';
import { serve, TOKEN } from '../../testing/serve.ts';
import { createA2AClient, EVENT_METADATA } from '../index.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
const parts = [
  { kind: 'file', index: 1, filename: 'a.txt', mediaType: 'text/plain', bytes: 'aGV5' },
] as const;

for (const [version, part] of [
  ['1.0', { raw: 'aGV5', filename: 'a.txt', mediaType: 'text/plain' }],
  ['0.3', { kind: 'file', file: { bytes: 'aGV5', name: 'a.txt', mimeType: 'text/plain' } }],
] as const)
  test(`a file is sent as a file part of A2A ${version}, after the text`, async (t) => {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      bodies.push(body);
      const message = {
        messageId: 'r',
        kind: 'message',
        role: 'agent',
        parts: [{ kind: 'text', text: 'ok' }],
      };
      const result = version === '1.0' ? { message } : message;
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const peer = { name: 'p', url: `http://127.0.0.1:${address.port}/`, version };
    await client.send(peer, { messageId: 'm', text: 'see', parts, blocking: true }, { timeoutMs: 10_000 });
    const sent = JSON.parse(bodies[0] ?? '').params.message.parts;
    assert.equal(sent.length, 2);
    assert.equal(sent[0].text, 'see');
    assert.deepEqual(sent[1], part);
  });

test('a snapshot of a stream has the metadata of the update that made it, and only of that one', async (t) => {
  const served = await serve(t, { script: async () => undefined });
  const peer = { name: 'neo', url: served.rpcUrl, token: TOKEN };
  const open = await client.send(peer, { messageId: 'm', text: 'x', blocking: false }, { timeoutMs: 10_000 });
  assert.ok(open.kind === 'task');
  const { id } = open.task;
  const seen: unknown[] = [];
  const watching = client.watch(peer, id, { signal: new AbortController().signal, idleTimeoutMs: 10_000 });
  const next = async (): Promise<void> => {
    const { value } = await watching.next();
    const event = value?.updateMetadata?.[EVENT_METADATA];
    seen.push(isJsonObject(event) ? event.type : event);
  };
  await next();
  await served.ledger.append(id, { type: 'started', data: {} });
  await next();
  await served.ledger.append(id, { type: 'text', data: { text: 'a' } });
  await next();
  await finish(served.ledger, id, 'done', { text: 'a' });
  await next();
  assert.deepEqual(seen, [undefined, 'started', undefined, undefined]);
  await watching.return?.();
});
