import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busState, readinessFrom, storeState } from './readiness.ts';

test('a store with a problem makes the member unready; a disconnected broker does not', () => {
  const fine = { store: storeState(undefined), nats: busState({ connected: true, lastError: undefined }) };
  assert.deepEqual(readinessFrom(fine), {
    ready: true,
    dependencies: { store: { state: 'ok' }, nats: { state: 'ok' } },
  });
  const away = { ...fine, nats: busState({ connected: false, lastError: 'connection refused' }) };
  assert.deepEqual(readinessFrom(away), {
    ready: true,
    dependencies: { store: { state: 'ok' }, nats: { state: 'degraded', detail: 'connection refused' } },
  });
  const early = busState({ connected: false, lastError: undefined });
  assert.match(early.detail ?? '', /not connected yet/);
  const full = readinessFrom({ ...away, store: storeState('disk full') });
  assert.deepEqual([full.ready, full.dependencies.store], [false, { state: 'down', detail: 'disk full' }]);
});

test('a stream that lacks events degrades a member, which stays ready', () => {
  const nats = busState({ connected: true, lastError: undefined, missing: 3_250 });
  assert.equal(nats.state, 'degraded');
  assert.match(nats.detail ?? '', /lacks 3250 events.+fleet nats refill/);
  assert.equal(readinessFrom({ nats }).ready, true);
  assert.deepEqual(busState({ connected: true, lastError: undefined, missing: 0 }), { state: 'ok' });
});
