import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { Route } from '@hermes-fleet/protocol/api';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { createApiClient } from './client.ts';
import type { Refusal } from './refusal.ts';

const client = createApiClient({
  clock: systemClock,
  tlsKeys: { ca: 'CA', cert: 'CERT' },
  refused: (refusal) => new FleetError('FORBIDDEN', refusal.message ?? '', { cause: refusal }),
  timeoutMs: 5_000,
});

async function serving(t: TestContext, answer: (reply: ServerResponse, path: string) => void) {
  const server = createServer((request, reply) => answer(reply, request.url ?? ''));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return { name: 'neo', url: `http://127.0.0.1:${address.port}/`, token: 'secret' };
}

const Thing = z.object({
  state: z.enum(['on', 'off']),
  of: z.string().nullable(),
  more: z.number().optional(),
});
const ROUTE: Route<'/things/:id', z.ZodObject<{ things: z.ZodArray<typeof Thing> }>> = {
  method: 'GET',
  path: '/things/:id',
  answer: z.object({ things: z.array(Thing) }),
};
const call = { params: { id: 'a/b ?' } };

test('an answer of another release is read with all that it has', async (t) => {
  const newer = { things: [{ state: 'asleep', of: null, mood: { is: 'good' } }], at: 1 };
  const asked: string[] = [];
  const neo = await serving(t, (reply, path) => {
    asked.push(path);
    reply.end(JSON.stringify(newer));
  });
  assert.deepEqual(await client.call(neo, ROUTE, { ...call, query: { q: '1' } }), newer);
  assert.deepEqual(asked, ['/things/a%2Fb%20%3F?q=1']);
});

test('a field that is missing or wrong is named, with its route', async (t) => {
  const wrong = { things: [{ state: 7, of: null }, { state: 'on' }] };
  const neo = await serving(t, (reply) => reply.end(JSON.stringify(wrong)));
  await assert.rejects(client.call(neo, ROUTE, call), (error) => {
    assert.ok(error instanceof FleetError && error.code === 'PEER_REFUSED');
    assert.match(error.message, /^neo answers GET \/things\/:id with .*: things\[0\]\.state: /);
    assert.deepEqual(
      error.fields.map(({ path }) => path),
      ['things[0].state', 'things[1].of'],
    );
    return true;
  });
});

test('a refusal has the code, the message and the fields of an error over HTTP and over JSON-RPC, cut', async (t) => {
  const long = 'x'.repeat(900);
  const bodies: Record<string, unknown> = {
    '/things/a': {
      error: { code: 'INVALID_PARAMS', message: long, fields: Array(70).fill({ path: 'a', reason: 7 }) },
    },
    '/jsonrpc': {
      error: {
        code: -32602,
        message: 'no',
        data: [
          { reason: 'TASK_NOT_FOUND' },
          { fieldViolations: [{ field: 'id', description: 'is unknown' }] },
        ],
      },
    },
  };
  const neo = await serving(t, (reply, path) => reply.writeHead(400).end(JSON.stringify(bodies[path])));
  const refusal = async (work: Promise<unknown>): Promise<Refusal> =>
    work.then(
      () => assert.fail('it did not fail'),
      (error) => error.cause,
    );
  const http = await refusal(client.call(neo, ROUTE, { params: { id: 'a' } }));
  assert.deepEqual([http.status, http.code, http.message?.length], [400, 'INVALID_PARAMS', 500]);
  assert.deepEqual([http.fields.length, http.fields[0]], [50, { path: 'a', reason: '' }]);
  const download = await refusal(client.download(neo, '/things/a'));
  assert.deepEqual([download.code, download.message?.length], ['INVALID_PARAMS', 500]);
  const rpc = await refusal(client.rpc(neo, { method: 'Get', answer: z.object({}) }, {}));
  assert.deepEqual(
    [rpc.code, rpc.message, rpc.fields],
    ['TASK_NOT_FOUND', 'no', [{ path: 'id', reason: 'is unknown' }]],
  );
});

test('a blob is posted with its type, and its answer is read as every other', async (t) => {
  const neo = await serving(t, (reply, path) =>
    path === '/things'
      ? reply.end('{"n":1}')
      : reply.writeHead(409).end(JSON.stringify({ error: { code: 'NO_RESULT', message: path } })),
  );
  const blob = new Blob(['x'], { type: 'text/x' });
  assert.deepEqual(await client.upload(neo, '/things', blob, z.object({ n: z.int() })), { n: 1 });
  await assert.rejects(
    client.upload(neo, '/things', blob, z.object({ m: z.int() })),
    /neo answers POST \/things with what cannot be read: m: /,
  );
  await assert.rejects(client.upload(neo, '/other?q=1', blob, z.object({})), { message: '/other?q=1' });
});

test('a service that cannot be reached, or breaks off, is told with its address and the cause', async (t) => {
  const failing = (work: Promise<unknown>, message: RegExp) =>
    assert.rejects(work, { code: 'PEER_UNREACHABLE', message });
  await failing(
    client.call({ name: 'neo', url: 'http://127.0.0.1:2' }, ROUTE, call),
    /^neo does not answer at http:\/\/127\.0\.0\.1:2: connection refused/,
  );
  const broken = await serving(t, (reply) => {
    reply.writeHead(200, { 'content-length': '99' }).write('{');
    reply.destroy();
  });
  await failing(client.call(broken, ROUTE, call), /^neo does not answer at http/);
  const silent = await serving(t, () => undefined);
  await failing(
    client.call(silent, ROUTE, { ...call, timeoutMs: 50 }),
    /^neo does not answer at http.*: no answer within 0\.05 s$/,
  );
  const tls = { error: { code: 'TLS_REQUIRED', message: 'TEXT OF THE PEER' } };
  const secured = await serving(t, (reply) => reply.writeHead(400).end(JSON.stringify(tls)));
  await failing(
    client.call(secured, ROUTE, call),
    /^neo cannot be reached at .*: it speaks TLS: change its address/,
  );
});
