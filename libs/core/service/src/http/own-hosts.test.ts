import assert from 'node:assert/strict';
import { IncomingMessage, request } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { AUTHORIZATION, startApp } from '../../testing/start-app.ts';
import { createForeignRequest } from './own-hosts.ts';

const EVIL = 'evil.example:9219';

/** The status of a request with these headers. */
function ask(url: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, method, agent: false }, (reply) => {
      reply.resume().on('end', () => resolve(reply.statusCode ?? 0));
    });
    asked.on('error', reject).end();
  });
}

const HOSTS: readonly [host: string, status: number][] = [
  ['127.0.0.1', 200],
  ['127.0.0.1:1', 200],
  ['127.8.8.8:9219', 200],
  ['localhost:9219', 200],
  ['LOCALHOST.', 200],
  ['[::1]:9219', 200],
  ['neo:9220', 200],
  ['Agents.Example.com', 200],
  ['[fd00::2]:80', 200],
  [EVIL, 403],
  ['localhost.evil.example', 403],
  ['127.0.0.1.evil.example', 403],
  ['evil.example@localhost', 403],
  ['localhost/evil', 403],
  ['192.0.2.1:9219', 403],
  ['neo.evil.example', 403],
];

const ORIGINS: readonly [origin: string, status: number][] = [
  ['http://localhost:3000', 200],
  ['http://127.0.0.1:9219', 200],
  ['https://agents.example.com', 200],
  ['http://evil.example', 403],
  ['https://localhost.evil.example', 403],
  ['file://localhost', 403],
  ['chrome-extension://neo', 403],
  ['null', 403],
  ['', 403],
];

const FOREIGN: readonly Record<string, string>[] = [
  { host: EVIL },
  { origin: 'http://evil.example' },
  { origin: 'null' },
];

const hosts = ['neo', 'agents.example.com', 'fd00::2'];

test('without tokens, only the own hosts are answered', async (t) => {
  const { url } = await startApp(t, { authenticate: undefined, hosts });
  for (const [host, status] of HOSTS) assert.equal(await ask(`${url}/ready`, { host }), status, host);
  for (const [origin, status] of ORIGINS)
    assert.equal(await ask(`${url}/ready`, { origin }), status, `origin ${origin}`);
});

test('the host is checked before the route, and only /health answers everyone', async (t) => {
  const { url } = await startApp(t, {
    authenticate: undefined,
    routes: (app) => app.post('/work', async () => assert.fail('a foreign page got in')),
  });
  for (const foreign of FOREIGN) {
    for (const path of ['/work', '/metrics', '/ready', '/nothing-here'])
      for (const method of ['GET', 'POST', 'OPTIONS'])
        assert.equal(await ask(`${url}${path}`, foreign, method), 403, `${method} ${path}`);
    assert.equal(await ask(`${url}/health`, foreign), 200);
  }
});

test('the reason names the header and what to do', async (t) => {
  const { url } = await startApp(t, { authenticate: undefined });
  const reply = await fetch(`${url}/ready`, { headers: { origin: 'http://evil.example' } });
  assert.deepEqual(await reply.json(), {
    error: {
      code: 'FORBIDDEN',
      message:
        'the Origin header names "http://evil.example", which is not a host of this service; ' +
        'use its own address, or add the host to fleet.server.allowed_hosts',
      fields: [],
    },
  });
});

test('with tokens, a route that asks for own hosts checks them, and the other routes do not', async (t) => {
  const { url } = await startApp(t, {
    routes: (app) => {
      app.post('/guarded', { config: { ownHostsOnly: true } }, async ({ caller }) => [caller.name]);
      app.post('/open', async ({ caller }) => [caller.name]);
    },
  });
  for (const foreign of FOREIGN) {
    assert.equal(await ask(`${url}/guarded`, { ...foreign, ...AUTHORIZATION }, 'POST'), 403);
    assert.equal(await ask(`${url}/guarded`, foreign, 'POST'), 403);
    assert.equal(await ask(`${url}/guarded`, foreign, 'GET'), 403);
    assert.equal(await ask(`${url}/open`, { ...foreign, ...AUTHORIZATION }, 'POST'), 200);
    assert.equal(await ask(`${url}/ready`, foreign), 200);
  }
  assert.equal(await ask(`${url}/guarded`, AUTHORIZATION, 'POST'), 200);
  assert.equal(await ask(`${url}/guarded`, {}, 'POST'), 401);
});

test('the address that the connection arrived at is an own host, and a missing Host is not foreign', () => {
  const foreignRequest = createForeignRequest([]);
  const problem = (localAddress: string, headers: Record<string, string>) => {
    const received = new IncomingMessage(
      Object.defineProperty(new Socket(), 'localAddress', { value: localAddress }),
    );
    Object.assign(received.headers, headers);
    return foreignRequest(received)?.code;
  };
  for (const [address, host] of [
    ['172.18.0.3', '172.18.0.3:9223'],
    ['::ffff:172.18.0.3', '172.18.0.3'],
    ['fd00:0:0::3', '[fd00::3]:9223'],
    ['fe80::1%eth0', '[fe80::1]'],
  ] as const) {
    assert.equal(problem(address, { host }), undefined, host);
    assert.equal(problem(address, { host: '172.18.0.4' }), 'FORBIDDEN');
  }
  assert.equal(problem('172.18.0.3', {}), undefined);
  assert.equal(problem('172.18.0.3', { host: '' }), 'FORBIDDEN');
});
