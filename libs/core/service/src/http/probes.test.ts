import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { startApp } from '../../testing/start-app.ts';
import type { Readiness } from './probes.ts';

test('/health returns name, version and uptime without a token', async (t) => {
  const { url } = await startApp(t);
  const reply = await fetch(`${url}/health`);
  const body: unknown = await reply.json();
  assert.ok(isJsonObject(body));
  assert.equal(reply.status, 200);
  assert.deepEqual({ ...body, uptime_s: 0 }, { status: 'ok', name: 'neo', version: '1.2.3', uptime_s: 0 });
  assert.ok(typeof body.uptime_s === 'number' && body.uptime_s > 0);
});

const states: readonly { readonly readiness: Readiness; readonly status: number; readonly word: string }[] = [
  { readiness: { ready: true, dependencies: { ledger: { state: 'ok' } } }, status: 200, word: 'ready' },
  {
    readiness: {
      ready: true,
      dependencies: { ledger: { state: 'ok' }, nats: { state: 'degraded', detail: 'reconnecting' } },
    },
    status: 200,
    word: 'degraded',
  },
  {
    readiness: { ready: false, dependencies: { ledger: { state: 'down', detail: 'disk full' } } },
    status: 503,
    word: 'unavailable',
  },
  { readiness: { ready: false, dependencies: {} }, status: 503, word: 'unavailable' },
];

test('/ready returns 200 when ready or degraded, else 503, with every dependency', async (t) => {
  for (const { readiness, status, word } of states) {
    const { url } = await startApp(t, { readiness: () => readiness });
    const reply = await fetch(`${url}/ready`);
    assert.equal(reply.status, status);
    assert.deepEqual(await reply.json(), { status: word, ...readiness });
  }
});

test('/metrics returns the Prometheus text format without a token', async (t) => {
  const { url } = await startApp(t);
  const reply = await fetch(`${url}/metrics`);
  assert.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(await reply.text(), /# TYPE fleet_tokens_spent_total counter/);
});
