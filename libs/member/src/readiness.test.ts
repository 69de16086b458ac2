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
