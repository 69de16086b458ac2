import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { connectionFault } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { createA2AClient } from './client.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });

/** A listener that refuses each connection with this code, before it reads a request. */
async function refusing(t: TestContext, status: number, code: string): Promise<string> {
  const server = createServer((_request, reply) =>
    reply.writeHead(status).end(JSON.stringify({ error: { code, message: 'TEXT OF THE PEER', fields: [] } })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return `http://127.0.0.1:${address.port}`;
}

const failure = async (work: Promise<unknown>): Promise<FleetError> =>
  work.then(
    () => assert.fail('it did not fail'),
    (error) => FleetError.from(error),
  );

for (const [status, code, words] of [
  [403, 'CLIENT_CERTIFICATE_REQUIRED', 'it requires a client certificate: set fleet.tls.cert_file'],
  [
    403,
    'CLIENT_CERTIFICATE_REFUSED',
    'it refuses the client certificate: set fleet.tls.cert_file to one that is valid, for clients, and from an issuer that it trusts',
  ],
  [400, 'TLS_REQUIRED', 'it speaks TLS: change its address to https://'],
] as const)
  test(`a listener that answers ${code} is an unreachable peer, for calls, cards and streams`, async (t) => {
    const url = await refusing(t, status, code);
    const peer = { name: 'neo', url: `${url}/jsonrpc` };
    const message = { messageId: 'm', text: 'hi', blocking: true };
    const stream = client.stream(peer, message, { signal: AbortSignal.timeout(9_000), idleTimeoutMs: 9_000 });
    for (const [name, work] of [
      ['neo', client.send(peer, message, { timeoutMs: 9_000 })],
      [new URL(url).host, client.card(`${url}/card.json`, { timeoutMs: 9_000 })],
      ['neo', stream.next()],
    ] as const) {
      const error = await failure(work);
      assert.equal(error.code, 'PEER_UNREACHABLE');
      assert.ok(error.message.startsWith(`peer "${name}" at ${url} cannot be reached for `), error.message);
      assert.ok(error.message.endsWith(words), error.message);
      assert.ok(connectionFault(error), 'nothing of the request was read');
    }
  });

test('a refusal of the request itself is no fault of the connection', async (t) => {
  const url = await refusing(t, 403, 'FORBIDDEN');
  const message = { messageId: 'm', text: 'hi', blocking: true };
  const error = await failure(
    client.send({ name: 'neo', url: `${url}/jsonrpc` }, message, { timeoutMs: 9_000 }),
  );
  assert.equal(error.code, 'PEER_REFUSED');
  assert.equal(connectionFault(error), undefined);
});
