import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFleetControl } from './fleet-control.ts';

test('closing waits for the start under way before it stops the fleet, and no start follows', async () => {
  const steps: string[] = [];
  const starting = Promise.withResolvers<number>();
  const fleet = createFleetControl(
    async () => {
      steps.push('start');
      const seconds = await starting.promise;
      steps.push('started');
      return seconds;
    },
    async () => void steps.push('stop'),
  );
  const started = fleet.start();
  const closed = fleet.close();
  await assert.rejects(fleet.start(), /the bench is ending/);
  starting.resolve(2);
  await closed;
  assert.equal(await started, 2);
  assert.deepEqual(steps, ['start', 'started', 'stop']);
});

test('a fleet whose start fails is stopped too', async () => {
  const steps: string[] = [];
  const fleet = createFleetControl(
    () => Promise.reject(new Error('no port')),
    async () => void steps.push('stop'),
  );
  const started = assert.rejects(fleet.start(), /no port/);
  await fleet.close();
  await started;
  assert.deepEqual(steps, ['stop']);
});
