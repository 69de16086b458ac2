import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeduplicator } from './deduplicator.ts';

test('an id is new once', () => {
  const { isNew } = createDeduplicator(10);
  assert.deepEqual(['a', 'b', 'a', 'b', 'c'].map(isNew), [true, true, false, false, true]);
});

test('it remembers the most recently seen ids up to its capacity', () => {
  const { isNew } = createDeduplicator(2);
  assert.deepEqual(['a', 'b', 'a', 'c'].map(isNew), [true, true, false, true]);
  assert.equal(isNew('a'), false);
  assert.equal(isNew('b'), true);
});

test('a capacity of zero is refused', () => {
  assert.throws(() => createDeduplicator(0), RangeError);
});
