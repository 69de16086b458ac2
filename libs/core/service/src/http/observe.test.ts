import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { AUTHORIZATION, JSON_TYPE, startApp } from '../../testing/start-app.ts';
import { sendHead } from './send-head.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('a request keeps its plain id; otherwise it gets a new one', async (t) => {
  const { url, logs } = await startApp(t);
  const idOf = async (id?: string): Promise<string | null> => {
    const reply = await fetch(`${url}/nope`, { headers: id === undefined ? {} : { 'x-request-id': id } });
    await reply.arrayBuffer();
    return reply.headers.get('x-request-id');
  };
  assert.equal(await idOf('req-7.a_b:c'), 'req-7.a_b:c');
  await logs.find(({ request_id }) => request_id === 'req-7.a_b:c');
  for (const bad of [undefined, 'two words', '"quoted"', 'x'.repeat(129), '<script>']) {
    assert.match((await idOf(bad)) ?? '', UUID);
  }
});

test('a request continues its incoming trace in reply and logs', async (t) => {
  const { url, logs } = await startApp(t);
  const reply = await fetch(`${url}/nope`, { headers: { traceparent: `00-${TRACE}-b7ad6b7169203331-01` } });
  const out = reply.headers.get('traceparent') ?? '';
  assert.match(out, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  assert.notEqual(out.split('-')[2], 'b7ad6b7169203331');
  const line = await logs.find(({ trace_id }) => trace_id === TRACE);
  assert.equal(line.request_id, reply.headers.get('x-request-id'));
});

test('handlers see the trace and log with the fields of their request', async (t) => {
  const { url, logs } = await startApp(t, {
    routes: (app) =>
      app.get('/work', async (request) => {
        request.log.info({ task_id: 't-1' }, 'working');
        return request.trace;
      }),
  });
  const reply = await fetch(`${url}/work`, { headers: AUTHORIZATION });
  const trace: unknown = await reply.json();
  const line = await logs.find(({ msg }) => msg === 'working');
  assert.equal(line.caller, 'switch');
  assert.equal(line.task_id, 't-1');
  assert.equal(line.request_id, reply.headers.get('x-request-id'));
  assert.deepEqual(trace, {
    traceId: line.trace_id,
    spanId: reply.headers.get('traceparent')?.split('-')[2],
    traceparent: reply.headers.get('traceparent'),
  });
});

test('a hijacked stream has id and trace, too, and is logged when it ends', async (t) => {
  const { url, logs } = await startApp(t, {
    routes: (app) => {
      app.get('/stream', (_request, reply) => {
        sendHead(reply, 200, { 'content-type': 'text/event-stream' });
        reply.raw.end('data: x\n\n');
      });
    },
  });
  const reply = await fetch(`${url}/stream`, { headers: AUTHORIZATION });
  await reply.text();
  assert.match(reply.headers.get('x-request-id') ?? '', UUID);
  assert.match(reply.headers.get('traceparent') ?? '', /^00-/);
  const line = await logs.find(({ route }) => route === '/stream');
  assert.equal(line.status, 200);
});

test('a request that no route can take has id and trace, too', async (t) => {
  const { url, logs } = await startApp(t);
  const reply = await fetch(`${url}/%zz`);
  assert.equal(reply.status, 400);
  assert.match(reply.headers.get('x-request-id') ?? '', UUID);
  assert.match(reply.headers.get('traceparent') ?? '', /^00-/);
  assert.equal(reply.headers.get('keep-alive'), 'timeout=3');
  const line = await logs.find(({ status }) => status === 400);
  assert.equal(line.request_id, reply.headers.get('x-request-id'));
  assert.equal(line.route, 'unmatched');
});

test('each request has one log line: probes at debug, 2xx and 4xx at info, 5xx at error with its cause', async (t) => {
  const { url, logs } = await startApp(t, {
    readiness: () => ({ ready: false, dependencies: {} }),
    routes: (app) => {
      app.get('/ok', async () => ({}));
      app.get('/throw', async () => {
        throw new Error('disk on fire');
      });
      app.get('/busy', async () => {
        throw new FleetError('QUEUE_FULL', 'the queue is full');
      });
    },
  });
  const expected = [
    ['/health', '/health', 200, 'debug', undefined],
    ['/ready', '/ready', 503, 'debug', undefined],
    ['/metrics', '/metrics', 200, 'debug', undefined],
    ['/ok?token=abc', '/ok', 200, 'info', undefined],
    ['/nope', 'unmatched', 404, 'info', 'NOT_FOUND'],
    ['/throw', '/throw', 500, 'error', 'INTERNAL'],
    ['/busy', '/busy', 503, 'error', 'QUEUE_FULL'],
  ] as const;
  for (const [path, route, status, level, code] of expected) {
    await (await fetch(url + path, { headers: AUTHORIZATION })).text();
    const line = await logs.find((entry) => entry.route === route);
    assert.deepEqual([line.status, line.level, line.code], [status, level, code], path);
    assert.equal(line.path, path.split('?')[0]);
    assert.equal(typeof line.duration_ms, 'number');
    assert.equal(logs.lines.filter((entry) => entry.route === route).length, 1);
  }
  const failed = await logs.find(({ route }) => route === '/throw');
  assert.match(JSON.stringify(failed.err), /disk on fire/);
  assert.ok(!JSON.stringify(logs.lines).includes('switch-token-0123456789'));
  assert.ok(!JSON.stringify(logs.lines).includes('token=abc'));
});

test('a failing probe is logged as an error', async (t) => {
  const { url, logs } = await startApp(t, {
    readiness: () => {
      throw new Error('no ledger');
    },
  });
  const reply = await fetch(`${url}/ready`);
  assert.equal(reply.status, 500);
  const line = await logs.find(({ route }) => route === '/ready');
  assert.equal(line.level, 'error');
});

test('requests are counted by route pattern, never by URL', async (t) => {
  const { url, metrics } = await startApp(t, {
    routes: (app) => {
      app.get('/tasks/:id', async () => ({}));
      app.post('/echo', async () => ({}));
    },
  });
  for (let at = 0; at < 5; at += 1) {
    await (await fetch(`${url}/tasks/${at}`, { headers: AUTHORIZATION })).text();
    await (await fetch(`${url}/unknown/${at}`)).text();
  }
  await (await fetch(`${url}/echo`, { method: 'POST', body: '{}', headers: JSON_TYPE })).text();
  const lines = (await metrics.registry.metrics())
    .split('\n')
    .filter((line) => line.includes('requests_total{'));
  assert.deepEqual(lines.sort(), [
    'fleet_http_requests_total{method="GET",route="/tasks/:id",status="200"} 5',
    'fleet_http_requests_total{method="GET",route="unmatched",status="404"} 5',
    'fleet_http_requests_total{method="POST",route="/echo",status="401"} 1',
  ]);
  assert.match(
    await metrics.registry.metrics(),
    /fleet_http_request_duration_seconds_count\{method="GET",route="\/tasks\/:id"\} 5/,
  );
});
