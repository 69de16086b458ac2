import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { createLazyWrites } from './lazy-writes.ts';

function setUp() {
  const clock = manualClock();
  const started: string[] = [];
  const lazy = createLazyWrites({ clock, waitMs: 20 });
  const join = (key: string, what: string, error?: Error): Promise<void> =>
    lazy.join(key, async () => {
      started.push(what);
      if (error) throw error;
    });
  return { clock, started, lazy, join };
}

test('deferred writes start after the delay, in order, once', deadline, async () => {
  const { clock, started, join } = setUp();
  const all = [join('a', 'a1'), join('b', 'b1')];
  clock.advance(19);
  assert.deepEqual(started, []);
  clock.advance(1);
  await Promise.all(all);
  assert.deepEqual(started, ['a1', 'b1']);
  assert.equal(clock.timers, 0);
});

test('the newest write of a key runs, and both callers get its result', deadline, async () => {
  const { started, lazy, join } = setUp();
  const all = [join('a', 'a1'), join('b', 'b1'), join('a', 'a2')];
  lazy.flush();
  await Promise.all(all);
  assert.deepEqual(started, ['a2', 'b1']);
});

test('a failed write does not affect others', deadline, async () => {
  const { lazy, join } = setUp();
  const failing = join('a', 'a1', new Error('disk'));
  const other = join('b', 'b1');
  lazy.flush();
  await assert.rejects(failing, /disk/);
  await other;
});

test('close starts deferred writes, and later writes start at once', deadline, async () => {
  const { clock, started, lazy, join } = setUp();
  const waiting = join('a', 'a1');
  lazy.close();
  assert.deepEqual(started, ['a1']);
  await waiting;
  await join('b', 'b1');
  assert.deepEqual(started, ['a1', 'b1']);
  assert.equal(clock.timers, 0);
});
