import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { Scope } from '@hermes-fleet/protocol/ports';
import type { FastifyRequest } from 'fastify';
import { MIB, post, routes } from '../../testing/routes.ts';
import { AUTHORIZATION, exchange, parseReply, startApp, TOKEN } from '../../testing/start-app.ts';
import { createAuthenticator } from '../auth.ts';

test('the token identifies the caller', async (t) => {
  const { url } = await startApp(t, { routes });
  const reply = await fetch(`${url}/echo`, post('{"a": [1]}'));
  assert.equal(reply.status, 200);
  assert.deepEqual(await reply.json(), { caller: 'switch', body: { a: [1] } });
});

test('without an authenticator every caller is the peer with its scopes', async (t) => {
  const { url } = await startApp(t, {
    authenticate: undefined,
    routes: (app) => app.get('/me', async ({ caller }) => [caller.name, ...caller.scopes]),
  });
  const reply = await fetch(`${url}/me`);
  assert.deepEqual(await reply.json(), ['peer', 'announce', 'dispatch', 'read']);
});

test('a public route needs no token and has an anonymous caller without scopes', async (t) => {
  const { url } = await startApp(t, {
    routes: (app) =>
      app.get('/card', { config: { public: true } }, async ({ caller }) => [caller.name, caller.scopes.size]),
  });
  assert.deepEqual(await (await fetch(`${url}/card`)).json(), ['anonymous', 0]);
});

test('a route may judge its callers itself, also where no token is required', async (t) => {
  for (const authenticate of [createAuthenticator([]), undefined]) {
    const { url } = await startApp(t, {
      authenticate,
      routes: (app) => {
        const judge = ({ headers }: FastifyRequest) => {
          if (headers.authorization === 'Bearer one-use') return { name: 'guest', scopes: new Set<Scope>() };
          throw new FleetError('TASK_NOT_FOUND', 'nothing here');
        };
        app.get('/own', { config: { authenticate: judge } }, async ({ caller }) => [caller.name]);
      },
    });
    const get = (token: string) => fetch(`${url}/own`, { headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(await (await get('one-use')).json(), ['guest']);
    assert.equal((await get(TOKEN)).status, 404);
  }
});

test('a body of exactly the limit passes, one byte more does not', async (t) => {
  const { url } = await startApp(t, { routes, bodyLimitBytes: 20 });
  assert.equal((await fetch(`${url}/echo`, post(`"${'x'.repeat(18)}"`))).status, 200);
  const reply = await fetch(`${url}/echo`, post(`"${'x'.repeat(19)}"`));
  assert.deepEqual(await reply.json(), {
    error: { code: 'BODY_TOO_LARGE', message: 'the body is larger than 20 bytes; send less', fields: [] },
  });
});

test('a client that is still sending a large body reads the reason of its rejection', async (t) => {
  const { url } = await startApp(t, { routes });
  const body = `"${'x'.repeat(16 * MIB)}"`;
  for (const [token, status] of [
    [TOKEN, 413],
    ['wrong-token-0123456789', 401],
  ] as const) {
    const reply = await fetch(`${url}/echo`, post(body, { authorization: `Bearer ${token}` }));
    assert.equal(reply.status, status);
    await reply.json();
  }
});

test('a chunked body over the limit is rejected while it is being sent', async (t) => {
  const { port } = await startApp(t, { routes, bodyLimitBytes: 100 });
  const head = `POST /echo HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n`;
  const reply = await exchange(
    port,
    `${head}transfer-encoding: chunked\r\n\r\n80\r\n${'x'.repeat(128)}\r\n`,
    '}}',
  );
  const { status, body } = parseReply(reply);
  assert.equal(status, 413);
  assert.deepEqual(body, {
    error: { code: 'BODY_TOO_LARGE', message: 'the body is larger than 100 bytes; send less', fields: [] },
  });
});

test('authentication comes before the body', async (t) => {
  const { port } = await startApp(t, { routes });
  const head =
    'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n';
  const { status } = parseReply(await exchange(port, head));
  assert.equal(status, 401);
});

test('proxy headers are ignored', async (t) => {
  const { url } = await startApp(t, {
    authenticate: createAuthenticator([{ name: 'switch', scopes: [], secret: TOKEN }]),
    routes: (app) => app.get('/who', async (request) => [request.ip, request.protocol]),
  });
  const headers = { ...AUTHORIZATION, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
  assert.deepEqual(await (await fetch(`${url}/who`, { headers })).json(), ['127.0.0.1', 'http']);
});
