import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTls, type TLSSocket } from 'node:tls';
import { createAuthority, EXPIRED, NOT_YET_VALID, type TestCertificate } from '../testing/index.ts';
import { createClient } from './client.ts';
import { readTls, type TlsFiles, type TlsMaterial } from './tls/certificates.ts';
import { tlsFault } from './tls/faults.ts';

const KEYS = { ca: 'fleet.tls.ca_file', cert: 'fleet.tls.cert_file' };
const signal = AbortSignal.timeout(20_000);

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that answers with the name on the client's certificate. */
async function serve(
  t: TestContext,
  { cert, key }: TestCertificate,
  options: ServerOptions = {},
): Promise<string> {
  const server = createServer({ cert, key, ...options }, (request, reply) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    reply.setHeader('x-one', 'a');
    reply.end(JSON.stringify({ client: subject?.CN ?? null, method: request.method }));
  });
  return `https://127.0.0.1:${await listen(t, server)}`;
}

function material(files: TlsFiles): TlsMaterial {
  const reading = readTls(files, { use: 'client', now: Date.now() });
  assert.ok(reading.material, JSON.stringify(reading.problems));
  return reading.material;
}

const fetchWith = (of: TlsMaterial) => createClient('configured', { tls: { current: () => of } });

/** What is said of a request that fails. */
async function faultOf(url: string, of: TlsMaterial): Promise<string | undefined> {
  try {
    const answer = await fetchWith(of)(url, { signal });
    return `HTTP ${answer.status}`;
  } catch (error) {
    const fault = tlsFault(error, KEYS);
    return fault && `${fault.what}: ${fault.remedy}`;
  }
}

test('own issuers are trusted, and the client certificate is shown where one is asked for', async (t) => {
  const authority = createAuthority(t);
  const url = await serve(t, authority.issue('server'), { requestCert: true, ca: authority.ca });
  const mine = authority.issue('switch');
  const answer = await fetchWith(material({ caFile: authority.caFile, ...mine }))(url, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: 'hello',
    signal,
  });
  assert.deepEqual(await answer.json(), { client: 'switch', method: 'POST' });
  assert.deepEqual([answer.status, answer.headers.get('x-one')], [200, 'a']);
});

test('each fault of the server is told, with what to do', async (t) => {
  const authority = createAuthority(t);
  const of = material({ caFile: authority.caFile });
  const faults: [TestCertificate, RegExp][] = [
    [authority.issue('old', { valid: EXPIRED }), /^its certificate has expired: renew it there$/],
    [authority.issue('early', { valid: NOT_YET_VALID }), /^its certificate is not valid yet: set the clocks/],
    [
      authority.issue('elsewhere', { names: 'DNS:elsewhere.example' }),
      /^its certificate is for another name \(DNS:elsewhere\.example\): use an address that is on it/,
    ],
    [
      createAuthority(t, 'Other CA').issue('server'),
      /^its certificate is from an unknown issuer: put the certificate of its CA into fleet\.tls\.ca_file$/,
    ],
    [authority.issue('client-only', { purposes: 'clientAuth' }), /is not for a server: .* has serverAuth/],
  ];
  for (const [certificate, words] of faults)
    assert.match(String(await faultOf(await serve(t, certificate), of)), words);
  const plain = await listen(
    t,
    createHttp((_request, reply) => reply.end('hello')),
  );
  assert.match(
    String(await faultOf(`https://127.0.0.1:${plain}`, of)),
    /^it does not speak TLS: use its http:\/\/ address, or switch TLS on there$/,
  );
});

test('a server that requires a client certificate in the handshake is recognized', async (t) => {
  const authority = createAuthority(t);
  const required = { requestCert: true, rejectUnauthorized: true, ca: authority.ca };
  const trusting = material({ caFile: authority.caFile });
  const url = await serve(t, authority.issue('server'), required);
  assert.equal(await faultOf(url, trusting), 'it requires a client certificate: set fleet.tls.cert_file');
  const older = await serve(t, authority.issue('old'), { ...required, maxVersion: 'TLSv1.2' });
  assert.match(
    String(await faultOf(older, trusting)),
    /it may require a client certificate: set fleet\.tls\.cert_file$/,
  );
});

test('a request after a renewal uses the new files', async (t) => {
  const authority = createAuthority(t);
  const url = await serve(t, authority.issue('server'), { requestCert: true, ca: authority.ca });
  const [first, second] = [authority.issue('first'), authority.issue('second')];
  const files = { caFile: authority.caFile, ...first };
  let of = material(files);
  const ask = createClient('configured', { tls: { current: () => of } });
  const name = async (): Promise<string> => (await ask(url, { signal })).text();
  assert.match(await name(), /"first"/);
  copyFileSync(second.certFile, first.certFile);
  copyFileSync(second.keyFile, first.keyFile);
  of = material(files);
  assert.match(await name(), /"second"/);
});

test('a redirect is not followed over TLS either', async (t) => {
  const authority = createAuthority(t);
  const { cert, key } = authority.issue('server');
  const redirect = createServer({ cert, key }, (_request, reply) =>
    reply.writeHead(302, { location: '/there' }).end(),
  );
  const port = await listen(t, redirect);
  const ask = fetchWith(material({ caFile: authority.caFile }));
  await assert.rejects(ask(`https://127.0.0.1:${port}`, { signal }), /redirects to https:\S+\/there/);
});

test('an unverified certificate is taken only where that is asked for', async (t) => {
  const url = await serve(t, createAuthority(t).issue('server'));
  const ask = createClient('configured', { tls: 'unverified' });
  assert.equal((await ask(url)).status, 200);
  await assert.rejects(createClient('configured')(url), /fetch failed/);
});

test('an answer with a status that no Response can have is an error of the request, and of nothing else', async (t) => {
  const authority = createAuthority(t);
  const { cert, key } = authority.issue('server');
  for (const status of ['099', '600', '999']) {
    const server = createTls({ cert, key }, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(`HTTP/1.1 ${status} X\r\ncontent-length: 0\r\n\r\n`));
    });
    const url = `https://127.0.0.1:${await listen(t, server)}`;
    await assert.rejects(
      fetchWith(material({ caFile: authority.caFile }))(url, { signal }),
      /status/,
      status,
    );
  }
});

test('any other error has no such words', () => {
  assert.equal(tlsFault(new Error('connect ECONNREFUSED'), KEYS), undefined);
  assert.equal(tlsFault('nothing', KEYS), undefined);
});
