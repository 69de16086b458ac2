import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { createWakeups } from './wakeups.ts';

test('a wake resolves the waits for its key, and no wait leaks', deadline, async () => {
  const wakeups = createWakeups();
  const { signal } = new AbortController();
  const waits = [wakeups.wait('a', signal), wakeups.wait('a', signal), wakeups.wait('b', signal)];
  assert.equal(wakeups.waiting, 3);
  assert.equal(getEventListeners(signal, 'abort').length, 3);
  wakeups.wake('a');
  await Promise.all(waits.slice(0, 2).map(({ woken }) => woken));
  assert.equal(wakeups.waiting, 1);
  waits[2]?.cancel();
  waits[2]?.cancel();
  await waits[2]?.woken;
  assert.equal(wakeups.waiting, 0);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  wakeups.wake('a');
});

test('an abort wakes too, also an earlier one', deadline, async () => {
  const wakeups = createWakeups();
  const controller = new AbortController();
  const { woken } = wakeups.wait('a', controller.signal);
  controller.abort();
  await woken;
  await wakeups.wait('a', controller.signal).woken;
  assert.equal(wakeups.waiting, 0);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
});

test('wakeAll wakes every key', deadline, async () => {
  const wakeups = createWakeups();
  const { signal } = new AbortController();
  const waits = ['a', 'b', 'c'].map((key) => wakeups.wait(key, signal));
  wakeups.wakeAll();
  await Promise.all(waits.map(({ woken }) => woken));
  assert.equal(wakeups.waiting, 0);
});
