import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alternate, ratios } from './rounds.ts';

test('every contender runs once in each round, and each round begins with another one', async () => {
  const order: string[] = [];
  const run = (name: string) => async (): Promise<number> => order.push(name);
  const of = await alternate(3, [
    ['a', run('a')],
    ['b', run('b')],
    ['c', run('c')],
  ]);
  assert.equal(order.join(''), 'abcbcacab');
  assert.deepEqual(of('a'), [1, 6, 8], 'the results of one contender stand in the order of the rounds');
  assert.throws(() => of('d'), /no contender is called d/);
});

test('a ratio compares what was measured in the same round', () => {
  assert.deepEqual(ratios([10, 30], [5, 10]), [2, 3]);
  assert.deepEqual(ratios([10], []), [Number.NaN]);
});
