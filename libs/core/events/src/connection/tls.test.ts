import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { createAuthority, EXPIRED, type TestCertificate } from '@hermes-fleet/net/testing';
import { createRenewedTls, readTls, type TlsFiles, type TlsSource } from '@hermes-fleet/net/tls';
import { startNatsServer } from '../../testing/nats-server.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { openConnection, reasonOf } from './connection.ts';

const never = new AbortController().signal;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

function source(files: TlsFiles): TlsSource {
  const check = { use: 'client' } as const;
  const { material } = readTls(files, { ...check, now: Date.now() });
  assert.ok(material);
  const key = 'fleet.nats.tls';
  const keyOf = (problem: { key: string }): string => problem.key;
  return createRenewedTls({ files, check, material, key, keyOf, clock: Date, log: silent, lookEveryMs: 0 });
}

const serve = (t: TestContext, { certFile, keyFile }: TestCertificate, caFile?: string) =>
  startNatsServer(t, { tls: { certFile, keyFile, caFile } });

/** The name of the connected server's protocol, or why there is no connection. */
async function connected(url: string, tls: TlsSource | undefined): Promise<string> {
  try {
    const nc = await openConnection({ servers: [url], name: 'test', ...(tls && { tls }) }, never);
    const { tls_required: required } = nc.info ?? {};
    await nc.close();
    return required ? 'over TLS' : 'plain';
  } catch (error) {
    return reasonOf(error);
  }
}

const overTls = (url: string): string => url.replace('nats://', 'tls://');

test('a connection over TLS trusts the configured issuer, by name and by address', async (t) => {
  const authority = createAuthority(t);
  const nats = await serve(t, authority.issue('nats', { names: 'IP:127.0.0.1' }));
  const tls = source({ caFile: authority.caFile });
  assert.equal(await connected(overTls(nats.url), tls), 'over TLS');
  assert.equal(await connected(nats.url, tls), 'over TLS', 'the certificates alone require TLS');
  assert.equal(
    await connected(overTls(nats.url), undefined),
    'its certificate is from an unknown issuer: put the certificate of its CA into fleet.nats.tls.ca_file',
  );
});

test('a server without TLS is not used over a tls:// address', async (t) => {
  const nats = await startNatsServer(t);
  const said = await connected(overTls(nats.url), undefined);
  assert.equal(said, '127.0.0.1 does not speak TLS: set tls in its nats.conf, or use its nats:// address');
});

test('with mutual TLS a client needs a certificate, and renewed files are used by the next connection', async (t) => {
  const authority = createAuthority(t);
  const { caFile } = authority;
  const nats = await serve(t, authority.issue('nats'), caFile);
  const url = overTls(nats.url);
  assert.equal(
    await connected(url, source({ caFile })),
    '127.0.0.1 requires a client certificate: set fleet.nats.tls.cert_file',
  );
  const foreign = createAuthority(t, 'Other CA').issue('neo');
  const files = { caFile, ...foreign };
  const tls = source(files);
  assert.match(await connected(url, tls), /refuses the client certificate/);
  const mine = authority.issue('mine');
  copyFileSync(mine.certFile, foreign.certFile);
  copyFileSync(mine.keyFile, foreign.keyFile);
  assert.equal(await connected(url, tls), 'over TLS');
  await setUpStreams({ connection: { servers: [url], name: 'set-up', tls }, log: silent });
});

test("each fault of the server's certificate is told", async (t) => {
  const authority = createAuthority(t);
  const tls = source({ caFile: authority.caFile });
  const old = await serve(t, authority.issue('old', { valid: EXPIRED }));
  assert.equal(await connected(overTls(old.url), tls), 'its certificate has expired: renew it there');
  const elsewhere = await serve(t, authority.issue('elsewhere', { names: 'DNS:elsewhere.example' }));
  assert.match(
    await connected(overTls(elsewhere.url), tls),
    /its certificate is for another name \(DNS:elsewhere\.example\): use an address that is on it/,
  );
});
