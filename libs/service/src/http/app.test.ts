import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { createAuthenticator } from '../auth.ts';
import { AUTHORIZATION, exchange, JSON_TYPE, parseReply, startApp, TOKEN } from '../testing/start-app.ts';
import { translateError } from './errors.ts';

const MIB = 1_048_576;
const INTERNAL = 'internal error; the log of this request has the details';

const routes = (app: FastifyInstance): void => {
  app.post('/echo', async (request) => ({ caller: request.caller.name, body: request.body }));
  app.get('/throw', async () => {
    throw new Error('password hunter2 in /etc/shadow');
  });
  app.get('/fleet', async () => {
    throw new FleetError('INVALID_PARAMS', 'task.priority is wrong', {
      fields: [{ path: 'task.priority', reason: 'must be low, normal, high or urgent' }],
    });
  });
  app.get('/busy', async () => {
    throw new FleetError('QUEUE_FULL', 'the queue is full; try later', { retryAfterS: 2.2 });
  });
  app.get('/tasks/:id', async (request) => request.params);
  app.post(
    '/strict',
    {
      schema: {
        body: {
          type: 'object',
          required: ['name'],
          additionalProperties: false,
          properties: {
            name: { type: 'string' },
            count: { type: 'integer' },
            list: { type: 'array', items: { type: 'string' } },
          },
        },
      },
    },
    async (request) => request.body,
  );
};

const post = (body: string, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body,
  headers: { ...AUTHORIZATION, ...JSON_TYPE, ...headers },
});

const cases: readonly {
  readonly name: string;
  readonly path: string;
  readonly init?: RequestInit;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly fields?: readonly { path: string; reason: string }[];
  readonly headers?: Readonly<Record<string, string>>;
}[] = [
  {
    name: 'no token',
    path: '/echo',
    init: { method: 'POST', body: '{}', headers: JSON_TYPE },
    status: 401,
    code: 'UNAUTHENTICATED',
    message: 'a token is required; send "Authorization: Bearer <token>"',
    headers: { 'www-authenticate': 'Bearer' },
  },
  {
    name: 'a wrong token',
    path: '/echo',
    init: post('{}', { authorization: 'Bearer wrong-token-0123456789' }),
    status: 401,
    code: 'UNAUTHENTICATED',
    message: 'this token is not accepted here; check which service it is for',
    headers: { 'www-authenticate': 'Bearer' },
  },
  {
    name: 'a body that is not JSON',
    path: '/echo',
    init: post('{"a'),
    status: 400,
    code: 'PARSE_ERROR',
    message: 'the body is not JSON; send one JSON value',
  },
  {
    name: 'an empty JSON body',
    path: '/echo',
    init: post(''),
    status: 400,
    code: 'PARSE_ERROR',
    message: 'the body is not JSON; send one JSON value',
  },
  {
    name: 'a body that would change prototypes',
    path: '/echo',
    init: post('{"__proto__": {"admin": true}}'),
    status: 400,
    code: 'PARSE_ERROR',
    message: 'the body is not JSON; send one JSON value',
  },
  {
    name: 'a body over the limit',
    path: '/echo',
    init: post(`"${'x'.repeat(MIB)}"`),
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: 'the body is larger than 1048576 bytes; send less',
  },
  {
    name: 'another content type',
    path: '/echo',
    init: post('{}', { 'content-type': 'text/plain' }),
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'this content type is not accepted; send application/json',
  },
  {
    name: 'no content type',
    path: '/echo',
    init: { method: 'POST', body: new Uint8Array([123, 125]), headers: AUTHORIZATION },
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'a body without content type is not accepted; send application/json',
  },
  {
    name: 'an unknown address, even without a token',
    path: '/nope?x=1',
    status: 404,
    code: 'NOT_FOUND',
    message: 'there is nothing at this address',
  },
  {
    name: 'the wrong method',
    path: '/tasks/7',
    init: { method: 'DELETE' },
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    message: 'DELETE is not allowed here; use GET or HEAD',
    headers: { allow: 'GET, HEAD' },
  },
  {
    name: 'a URL that does not decode',
    path: '/tasks/%zz',
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'the path of this URL is not valid; check its % escapes',
  },
  {
    name: 'a segment that is too long',
    path: `/tasks/${'x'.repeat(101)}`,
    init: { headers: AUTHORIZATION },
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'a segment of the path of this URL is too long',
  },
  {
    name: 'an unforeseen error',
    path: '/throw',
    init: { headers: AUTHORIZATION },
    status: 500,
    code: 'INTERNAL',
    message: INTERNAL,
  },
  {
    name: 'a catalogue error with fields',
    path: '/fleet',
    init: { headers: AUTHORIZATION },
    status: 400,
    code: 'INVALID_PARAMS',
    message: 'task.priority is wrong',
    fields: [{ path: 'task.priority', reason: 'must be low, normal, high or urgent' }],
  },
  {
    name: 'a catalogue error that may be retried later',
    path: '/busy',
    init: { headers: AUTHORIZATION },
    status: 503,
    code: 'QUEUE_FULL',
    message: 'the queue is full; try later',
    headers: { 'retry-after': '3' },
  },
  {
    name: 'wrong fields, all at once, nothing coerced or dropped',
    path: '/strict',
    init: post('{"count": "3", "list": [1], "more": true}'),
    status: 400,
    code: 'INVALID_PARAMS',
    message:
      "the body is not valid: (body): must have required property 'name'; (body): must NOT have additional properties; " +
      'count: must be integer; list[0]: must be string',
    fields: [
      { path: '', reason: "must have required property 'name'" },
      { path: '', reason: 'must NOT have additional properties' },
      { path: 'count', reason: 'must be integer' },
      { path: 'list[0]', reason: 'must be string' },
    ],
  },
];

test('every rejected request gets a catalogue error and nothing else', async (t) => {
  const { url } = await startApp(t, { routes });
  for (const { name, path, init, status, code, message, fields = [], headers = {} } of cases) {
    await t.test(name, async () => {
      const reply = await fetch(url + path, init);
      assert.deepEqual(await reply.json(), { error: { code, message, fields } });
      assert.equal(reply.status, status);
      assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
      for (const [header, value] of Object.entries(headers)) assert.equal(reply.headers.get(header), value);
    });
  }
});

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

const rpc = (app: FastifyInstance): void => {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) =>
      done(null, text),
    );
    scope.setErrorHandler((thrown, request, reply) => {
      const { jsonrpcCode, code, httpStatus } = translateError(thrown, request, reply);
      if (httpStatus === 400) reply.code(200);
      return reply.send({ jsonrpc: '2.0', id: null, error: { code: jsonrpcCode, message: code } });
    });
    scope.post('/jsonrpc', async (request) => {
      if (request.body === 'garbage') throw new FleetError('PARSE_ERROR', 'not JSON');
      return { text: request.body };
    });
  });
};

test("a plugin's error handler and parsers override the default ones only in its own scope", async (t) => {
  const { url, port, logs } = await startApp(t, {
    requestTimeoutMs: 200,
    bodyLimitBytes: 1000,
    routes: (app) => {
      rpc(app);
      routes(app);
    },
  });
  const call = async (init: RequestInit) => {
    const reply = await fetch(`${url}/jsonrpc`, init);
    return { status: reply.status, auth: reply.headers.get('www-authenticate'), body: await reply.json() };
  };
  const error = (code: number, message: string) => ({ jsonrpc: '2.0', id: null, error: { code, message } });
  assert.deepEqual(await call({ method: 'POST' }), {
    status: 401,
    auth: 'Bearer',
    body: error(-32000, 'UNAUTHENTICATED'),
  });
  assert.deepEqual(await call(post('x'.repeat(1001))), {
    status: 413,
    auth: null,
    body: error(-32600, 'BODY_TOO_LARGE'),
  });
  assert.deepEqual(await call(post('{}', { 'content-type': 'text/xml' })), {
    status: 415,
    auth: null,
    body: error(-32600, 'UNSUPPORTED_MEDIA_TYPE'),
  });
  assert.deepEqual(await call(post('garbage')), {
    status: 200,
    auth: null,
    body: error(-32700, 'PARSE_ERROR'),
  });
  assert.deepEqual(await call(post('raw text')), { status: 200, auth: null, body: { text: 'raw text' } });

  const head = `POST /jsonrpc HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n`;
  const slow = parseReply(await exchange(port, `${head}content-length: 10\r\n\r\n{`));
  assert.equal(slow.status, 408);
  assert.deepEqual(slow.body, error(-32000, 'REQUEST_TIMEOUT'));

  const outside = await fetch(`${url}/echo`, post('{"a'));
  assert.deepEqual(await outside.json(), {
    error: { code: 'PARSE_ERROR', message: 'the body is not JSON; send one JSON value', fields: [] },
  });
  const line = await logs.find((entry) => entry.route === '/jsonrpc' && entry.code === 'PARSE_ERROR');
  assert.equal(line.status, 200);
  assert.equal(line.level, 'info');
});

test('an internal error behind a 200 of another protocol is still logged as an error', async (t) => {
  const { url, logs } = await startApp(t, {
    routes: (app) => {
      app.register(async (scope) => {
        scope.setErrorHandler((thrown, request, reply) => {
          const error = translateError(thrown, request, reply);
          return reply.code(200).send({ code: error.jsonrpcCode });
        });
        scope.get('/rpc', async () => {
          throw new TypeError('boom at /srv/app');
        });
      });
    },
  });
  const reply = await fetch(`${url}/rpc`, { headers: AUTHORIZATION });
  assert.deepEqual([reply.status, await reply.json()], [200, { code: -32603 }]);
  const line = await logs.find(({ route }) => route === '/rpc');
  assert.equal(line.level, 'error');
  assert.match(JSON.stringify(line.err), /boom at/);
});

test('closing waits for a running request', async (t) => {
  const entered = Promise.withResolvers<void>();
  const leave = Promise.withResolvers<void>();
  const { app, url } = await startApp(t, {
    authenticate: undefined,
    routes: (instance) =>
      instance.get('/slow', async () => {
        entered.resolve();
        await leave.promise;
        return { done: true };
      }),
  });
  const running = fetch(`${url}/slow`);
  await entered.promise;
  const closed = app.close();
  leave.resolve();
  const reply = await running;
  assert.deepEqual([reply.status, await reply.json()], [200, { done: true }]);
  await closed;
});

test('closing rejects new requests with a retryable error', async (t) => {
  const hold = Promise.withResolvers<void>();
  const closing = Promise.withResolvers<void>();
  const { app, url } = await startApp(t, {
    routes: (instance) =>
      instance.addHook('preClose', () => {
        closing.resolve();
        return hold.promise;
      }),
  });
  const closed = app.close();
  await closing.promise;
  const reply = await fetch(`${url}/health`);
  assert.equal(reply.status, 503);
  assert.equal(reply.headers.get('retry-after'), '1');
  assert.deepEqual(await reply.json(), {
    error: { code: 'SHUTTING_DOWN', message: 'neo is stopping; try again', fields: [] },
  });
  hold.resolve();
  await closed;
});

test('closing does not wait forever for a hanging handler', async (t) => {
  const entered = Promise.withResolvers<void>();
  const { app, url } = await startApp(t, {
    authenticate: undefined,
    closeGraceMs: 50,
    routes: (instance) =>
      instance.get('/hang', () => {
        entered.resolve();
        return new Promise(() => {});
      }),
  });
  const running = assert.rejects(fetch(`${url}/hang`));
  await entered.promise;
  await app.close();
  await running;
});

test('proxy headers are ignored', async (t) => {
  const { url } = await startApp(t, {
    authenticate: createAuthenticator([{ name: 'switch', scopes: [], secret: TOKEN }]),
    routes: (app) => app.get('/who', async (request) => [request.ip, request.protocol]),
  });
  const headers = { ...AUTHORIZATION, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
  assert.deepEqual(await (await fetch(`${url}/who`, { headers })).json(), ['127.0.0.1', 'http']);
});
