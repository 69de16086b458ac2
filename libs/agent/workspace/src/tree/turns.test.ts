import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from './turns.ts';

const never = new AbortController().signal;

test('turns are granted one at a time, in order of arrival, with resumed runs first', async () => {
  const turns = createTurns();
  const order: string[] = [];
  let inside = 0;
  const run = async (name: string, first: boolean, fails = false): Promise<void> => {
    using _turn = await turns.takeTurn({ first, signal: never });
    inside += 1;
    assert.equal(inside, 1);
    order.push(name);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
    if (fails) throw new Error(name);
  };
  const runs = [run('a', false, true), run('b', false), run('c', true), run('d', false), run('e', true)];
  const ends = await Promise.allSettled(runs);
  assert.deepEqual(order, ['a', 'c', 'e', 'b', 'd']);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', ...Array<string>(4).fill('fulfilled')],
  );
});

test('a waiter that aborts leaves the queue, and disposing of a turn twice has no effect', async () => {
  const turns = createTurns();
  const first = await turns.takeTurn({ first: false, signal: never });
  const gone = new AbortController();
  const left = turns.takeTurn({ first: false, signal: gone.signal });
  const second = turns.takeTurn({ first: false, signal: never });
  const third = turns.takeTurn({ first: false, signal: never });
  const reason = new Error('gone');
  gone.abort(reason);
  await assert.rejects(left, reason);
  await assert.rejects(turns.takeTurn({ first: false, signal: gone.signal }), reason);
  first[Symbol.dispose]();
  const turn = await second;
  first[Symbol.dispose]();
  let given = false;
  third.then(() => {
    given = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(given, false, 'the second turn has not ended');
  turn[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  (await turns.takeTurn({ first: false, signal: never }))[Symbol.dispose]();
});
