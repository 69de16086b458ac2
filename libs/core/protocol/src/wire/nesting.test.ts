import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNestedDeeper } from './nesting.ts';

const arrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test('arrays and objects count alike, wherever they stand, and what is in a text does not count', () => {
  const deep = (text: string, levels?: number): boolean => isNestedDeeper(JSON.parse(text), levels);
  for (const nested of [arrays, objects]) {
    assert.deepEqual([deep(nested(100)), deep(nested(101)), deep(nested(100_000))], [false, true, true]);
    assert.deepEqual([deep(`{"x":[1,${nested(98)}]}`), deep(`{"x":[1,${nested(99)}]}`)], [false, true]);
    assert.deepEqual([deep(nested(3), 3), deep(nested(4), 3)], [false, true]);
    assert.equal(deep(JSON.stringify(nested(200))), false);
  }
  for (const scalar of ['1', 'null', '"x"', 'true']) assert.equal(deep(scalar, 0), false);
});
