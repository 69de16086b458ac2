import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCode, manualClock } from '@hermes-fleet/protocol/testing';
import { createPurges } from './purges.ts';

test('purges that are asked for together are one, and the next keeps a distance that grows with its duration', async () => {
  const clock = manualClock();
  let count = 0;
  const purge = (): void => {
    count += 1;
    clock.advance(100);
  };
  const purges = createPurges({ purge }, clock);
  await Promise.all([purges.purge(), purges.purge(), purges.purge()]);
  assert.equal(count, 1);
  const later = Promise.all([purges.purge(), purges.purge()]);
  await clock.asleep(1);
  clock.advance(1_999);
  assert.equal(count, 1);
  clock.advance(1);
  await later;
  assert.equal(count, 2);
  const stopped = purges.purge();
  await clock.asleep(1);
  purges.stop();
  await assert.rejects(stopped, hasCode('SHUTTING_DOWN'));
  assert.equal(count, 2);
});

test('a purge that fails is reported, and the next is tried', async () => {
  const clock = manualClock();
  let fails = true;
  const purge = (): void => {
    if (fails) throw new Error('no space');
  };
  const purges = createPurges({ purge }, clock);
  await assert.rejects(purges.purge(), /no space/);
  fails = false;
  await purges.purge();
});
