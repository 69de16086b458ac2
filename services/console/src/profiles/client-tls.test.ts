import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createAuthority, type TestAuthority } from '@hermes-fleet/net/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { readCertificates } from '../config/certificates.ts';
import type { ConsoleConfig } from '../config/schema.ts';
import { createProfileClient } from './client.ts';

/** A profile that serves https, and requires a client certificate of the authority. */
async function profile(t: TestContext, authority: TestAuthority) {
  const { cert, key } = authority.issue('neo');
  const server = createServer({ cert, key, ca: authority.ca, requestCert: true }, (request, reply) =>
    reply.end(JSON.stringify({ path: request.url, token: request.headers.authorization })),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { name: 'neo', url: `https://127.0.0.1:${port}` };
}

const ROUTE = { method: 'GET', path: '/fleet/peers', answer: z.object({ token: z.string() }) } as const;

function client(tls: NonNullable<ConsoleConfig['tls']>) {
  const nats = { servers: ['nats://127.0.0.1:4222'] };
  return createProfileClient(
    systemClock,
    readCertificates({ tls, nats }, '/', { clock: systemClock, log: silentLog }).members,
  );
}

test('the console reaches profiles over https, with its client certificate', async (t) => {
  const authority = createAuthority(t);
  const neo = await profile(t, authority);
  const { certFile, keyFile } = authority.issue('console', { purposes: 'clientAuth' });
  const own = client({ ca_file: authority.caFile, cert_file: certFile, key_file: keyFile });
  assert.deepEqual(await own.call({ ...neo, token: 'a-token' }, ROUTE), {
    path: '/fleet/peers',
    token: 'Bearer a-token',
  });
});

test('a fault of TLS is told with the key of console.yaml that mends it', async (t) => {
  const [authority, other] = [createAuthority(t), createAuthority(t, 'Other CA')];
  const neo = await profile(t, authority);
  const call = (tls: Parameters<typeof client>[0]) => client(tls).call(neo, ROUTE);
  const said = (pattern: RegExp) => (error: unknown) => {
    assert.ok(error instanceof FleetError && error.code === 'PEER_UNREACHABLE', String(error));
    assert.match(error.message, pattern);
    return true;
  };
  await assert.rejects(
    call({ ca_file: other.caFile }),
    said(/^neo cannot be reached at https.*console\.tls\.ca_file/),
  );
  await assert.rejects(call({ ca_file: authority.caFile }), said(/console\.tls\.cert_file/));
});
