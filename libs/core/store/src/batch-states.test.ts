import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBatchStates } from './batch-states.ts';

test('looking at the state of a batch makes none, and is no write', () => {
  const written: number[] = [];
  const states = createBatchStates();
  const state = states.add(
    () => ({ n: 1 }),
    ({ n }) => written.push(n),
  );
  states.begin();
  assert.deepEqual([state.peek(), states.asked()], [undefined, 0]);
  states.write();
  state().n = 2;
  assert.deepEqual([state.peek(), states.asked()], [{ n: 2 }, 1]);
  states.write();
  states.end();
  assert.deepEqual([state.peek(), written], [undefined, [2]]);
});
