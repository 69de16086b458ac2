import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { createDeadlines } from './deadlines.ts';

function setUp() {
  const clock = manualClock();
  const deadlines = createDeadlines({ clock, ms: 100 });
  const late: string[] = [];
  const start = (name: string): (() => void) => deadlines.start(() => late.push(name));
  return { clock, deadlines, late, start };
}

test('each deadline that is not met calls back when its time has passed, and a met one never does', () => {
  const { clock, late, start } = setUp();
  start('a');
  clock.advance(40);
  const meet = start('b');
  start('c');
  clock.advance(59);
  assert.deepEqual(late, []);
  clock.advance(1);
  assert.deepEqual(late, ['a']);
  meet();
  clock.advance(39);
  assert.deepEqual(late, ['a']);
  clock.advance(1);
  assert.deepEqual(late, ['a', 'c']);
  assert.equal(clock.timers, 0);
});

test('all open deadlines share one timer, which is set again when the next deadline starts', () => {
  const { clock, late, start } = setUp();
  for (let at = 0; at < 50; at += 1) start('met')();
  assert.equal(clock.timers, 1);
  clock.advance(100);
  assert.deepEqual([late, clock.timers], [[], 0]);
  start('a');
  clock.advance(100);
  assert.deepEqual([late, clock.timers], [['a'], 0]);
});

test('a deadline that is started by the callback of another one delays no third, even if that callback throws', () => {
  const { clock, deadlines, late, start } = setUp();
  deadlines.start(() => {
    start('new');
    throw new Error('a bug');
  });
  clock.advance(10);
  start('old');
  assert.throws(() => clock.advance(90), /a bug/);
  clock.advance(10);
  assert.deepEqual(late, ['old']);
  clock.advance(90);
  assert.deepEqual(late, ['old', 'new']);
});

test('close lets every deadline pass, even if the callback of one throws', () => {
  const { deadlines, late, start } = setUp();
  start('a');
  deadlines.start(() => {
    throw new Error('a bug');
  });
  start('b');
  assert.throws(() => deadlines.close(), /a bug/);
  assert.deepEqual(late, ['a', 'b']);
});

test('close ends the timer: what is not met is late now, and nothing is late after it', () => {
  const { clock, deadlines, late, start } = setUp();
  start('met')();
  start('a');
  start('b');
  deadlines.close();
  assert.deepEqual([late, clock.timers], [['a', 'b'], 0]);
  start('c');
  deadlines.close();
  clock.advance(1_000);
  assert.deepEqual(late, ['a', 'b']);
});
