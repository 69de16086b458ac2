import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { post, routes } from '../../testing/routes.ts';
import { AUTHORIZATION, exchange, parseReply, startApp, TOKEN } from '../../testing/start-app.ts';
import { translateError } from './errors.ts';

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
