import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls';
import {
  createAuthority,
  EXPIRED,
  type TestAuthority,
  type TestCertificate,
} from '@hermes-fleet/net/testing';
import { createRenewedTls, readTls } from '@hermes-fleet/net/tls';
import { isJsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { captureLogs, startApp, TOKEN } from '../../testing/start-app.ts';
import type { ConnectionLimits } from './connections.ts';

const LOOK_MS = 20;

interface Options {
  readonly clientCert?: 'none' | 'optional' | 'required';
  readonly connections?: ConnectionLimits;
}

/** An app over TLS, with the certificate of an authority of the test. */
async function serve(t: TestContext, { clientCert = 'none', connections = {} }: Options = {}) {
  const authority = createAuthority(t);
  const own = authority.issue('server');
  const files = {
    certFile: own.certFile,
    keyFile: own.keyFile,
    ...(clientCert === 'none' ? {} : { caFile: authority.caFile }),
  };
  const { material } = readTls(files, { use: 'server', now: Date.now() });
  assert.ok(material);
  const renewals = captureLogs();
  const log = {
    info: (fields: object, msg: string) => renewals.write(JSON.stringify({ level: 'info', msg, ...fields })),
    warn: (fields: object, msg: string) => renewals.write(JSON.stringify({ level: 'warn', msg, ...fields })),
  };
  const source = createRenewedTls({
    key: 'fleet.server.tls',
    files,
    material,
    check: { use: 'server' as const },
    keyOf: ({ key }: { key: string }) => `fleet.server.tls.${key}`,
    clock: systemClock,
    log,
    lookEveryMs: 0,
  });
  const app = await startApp(t, {
    tls: { files: source, clientCert, lookEveryMs: LOOK_MS },
    connections,
    routes: (into) => void into.get('/me', async () => 'me'),
  });
  return { ...app, authority, own, renewals };
}

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly names: string;
}

/** A request over a connection of its own. */
function ask(
  port: number,
  authority: TestAuthority,
  options: ConnectionOptions & { path?: string; token?: string } = {},
): Promise<Asked> {
  const { path = '/me', token = TOKEN, ...tls } = options;
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const at = { host: '127.0.0.1', port, path, headers, agent: false, ca: authority.ca, ...tls };
    request(at, async (answer) => {
      const socket = answer.socket as TLSSocket;
      const names = socket.getPeerCertificate().subjectaltname ?? '';
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk);
      resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString(), names });
    })
      .on('error', reject)
      .end();
  });
}

const shown = ({ cert, key }: TestCertificate) => ({ cert, key });
const codeOf = ({ text }: Asked): unknown => {
  const body: unknown = JSON.parse(text);
  return isJsonObject(body) && isJsonObject(body.error) ? body.error.code : undefined;
};

test('a listener with a certificate serves https, of TLS 1.2 and newer', async (t) => {
  const { port, authority, logs } = await serve(t);
  assert.deepEqual((await ask(port, authority)).text, 'me');
  assert.equal((await ask(port, authority, { maxVersion: 'TLSv1.2' })).status, 200);
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  await assert.rejects(ask(port, authority, old), /alert protocol version/);
  const { reason } = await logs.find(({ msg }) => msg === 'connection refused');
  assert.match(String(reason), /TLS handshake failed \(ERR_SSL_UNSUPPORTED_PROTOCOL\)/);
});

test('a plain HTTP request to a TLS port gets an answer that says so', async (t) => {
  const { port, logs } = await serve(t);
  const reply = await fetch(`http://127.0.0.1:${port}/me`);
  assert.equal(reply.status, 400);
  const { error } = (await reply.json()) as { error: { code: string; message: string } };
  assert.deepEqual(
    [error.code, error.message],
    ['TLS_REQUIRED', 'this port speaks TLS; send the request to its https:// address'],
  );
  assert.equal((await logs.find(({ code }) => code === 'TLS_REQUIRED')).status, 400);
});

test('a required client certificate is asked for before the token, and not for probes', async (t) => {
  const { port, authority } = await serve(t, { clientCert: 'required' });
  const mine = shown(authority.issue('switch'));
  assert.equal((await ask(port, authority, mine)).status, 200);
  assert.equal((await ask(port, authority, { ...mine, token: 'some-other-token-0123' })).status, 401);
  const none = await ask(port, authority);
  assert.deepEqual([none.status, codeOf(none)], [403, 'CLIENT_CERTIFICATE_REQUIRED']);
  for (const path of ['/nothing-here', '/.well-known/agent-card.json'])
    assert.equal(codeOf(await ask(port, authority, { path })), 'CLIENT_CERTIFICATE_REQUIRED');
  for (const path of ['/health', '/ready', '/metrics'])
    assert.equal((await ask(port, authority, { path })).status, 200);
});

test('a client certificate that is not valid is refused with the reason', async (t) => {
  const { port, authority } = await serve(t, { clientCert: 'optional' });
  const expired = authority.issue('expired', { valid: EXPIRED });
  const foreign = createAuthority(t, 'Other CA').issue('switch');
  const server = authority.issue('server-only', { purposes: 'serverAuth' });
  for (const [certificate, reason] of [
    [expired, /refuses the client certificate: it has expired/],
    [foreign, /refuses the client certificate: its issuer is unknown/],
    [server, /refuses the client certificate: it is not for a client/],
  ] as const) {
    const answer = await ask(port, authority, shown(certificate));
    assert.deepEqual([answer.status, codeOf(answer)], [403, 'CLIENT_CERTIFICATE_REFUSED']);
    assert.match(answer.text, reason);
  }
  assert.equal((await ask(port, authority)).status, 200, 'optional: none is fine');
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  test(`a resumed session of ${version} does not stand for a certificate that was never shown`, async (t) => {
    const { port, authority } = await serve(t, { clientCert: 'required' });
    const at = { host: '127.0.0.1', port, ca: authority.ca, minVersion: version, maxVersion: version };
    const get = (socket: TLSSocket): Promise<string> => {
      socket.write('GET /me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
      return once(socket.setEncoding('utf8'), 'data').then(([text]) => String(text));
    };
    const first = tlsConnect(at);
    let session: Buffer | undefined;
    first.on('session', (ticket) => {
      session = ticket;
    });
    assert.match(await get(first), /CLIENT_CERTIFICATE_REQUIRED/);
    first.destroy();
    const again = tlsConnect({ ...at, ...(session && { session }) });
    await once(again, 'secureConnect');
    const text = await get(again);
    assert.match(text, /CLIENT_CERTIFICATE_REQUIRED/, `resumed: ${again.isSessionReused()}`);
    again.destroy();
  });

test('a client that never finishes its handshake is closed, and gives way to callers', async (t) => {
  const connections = { maxConnections: 16, maxUnauthenticated: 4, unauthenticatedIdleMs: 300 };
  const { port, authority } = await serve(t, { connections });
  const silent = Array.from({ length: 12 }, () => connect(port, '127.0.0.1'));
  const half = Array.from({ length: 12 }, () => connect(port, '127.0.0.1'));
  const closed = [...silent, ...half].map((socket) => {
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
    return once(socket, 'close');
  });
  // The first bytes of a handshake: a record whose rest never comes.
  for (const socket of half) socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1]));
  assert.equal((await ask(port, authority)).status, 200);
  await Promise.all(closed);
});

test('after the handshake a silent client is closed, and a caller stays', async (t) => {
  const { port, authority } = await serve(t, { connections: { unauthenticatedIdleMs: 300 } });
  const at = { host: '127.0.0.1', port, ca: authority.ca };
  const caller = tlsConnect(at).setEncoding('utf8');
  t.after(() => caller.destroy());
  const ask = async (): Promise<string> => {
    caller.write(`GET /me HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`);
    return String((await once(caller, 'data'))[0]);
  };
  assert.match(await ask(), /^HTTP\/1\.1 200[\s\S]*me$/);
  const mute = tlsConnect(at);
  mute.on('error', () => undefined);
  await once(mute, 'secureConnect');
  await once(mute, 'close');
  assert.match(await ask(), /^HTTP\/1\.1 200/, 'the caller was silent for as long');
});

test('a renewed certificate is served without a restart, under traffic, and a broken one is not', async (t) => {
  const { port, authority, own, renewals } = await serve(t);
  let failures = 0;
  let stop = false;
  const traffic = (async () => {
    while (!stop) await ask(port, authority).catch(() => (failures += 1));
  })();
  const next = authority.issue('renewed', { names: 'DNS:localhost,IP:127.0.0.1,DNS:renewed.example' });
  copyFileSync(next.certFile, own.certFile);
  const { problems, level } = await renewals.find(({ msg }) => /earlier ones stay in use/.test(String(msg)));
  assert.equal(level, 'warn');
  assert.match(String(problems), /key_file: .* is not the key of the certificate in/);
  assert.doesNotMatch((await ask(port, authority)).names, /renewed/);
  copyFileSync(next.keyFile, own.keyFile);
  await renewals.find(({ msg }) => msg === 'fleet.server.tls: the renewed files are in use');
  assert.match((await ask(port, authority)).names, /renewed\.example/);
  writeFileSync(join(authority.dir, 'server.pem'), 'not a certificate');
  await renewals.find(({ problems: each }) => /holds no certificate/.test(String(each)));
  assert.match((await ask(port, authority)).names, /renewed\.example/);
  stop = true;
  await traffic;
  assert.equal(failures, 0);
});
