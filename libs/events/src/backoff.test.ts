import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBackoff } from './backoff.ts';

test('delays double up to the ceiling and start over after a reset', () => {
  const backoff = createBackoff({ firstMs: 100, maxMs: 500, random: () => 1 });
  assert.deepEqual([backoff.next(), backoff.next(), backoff.next(), backoff.next()], [100, 200, 400, 500]);
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

test('chance spreads a delay over its upper half', () => {
  const lowest = createBackoff({ firstMs: 100, maxMs: 500, random: () => 0 });
  assert.deepEqual([lowest.next(), lowest.next()], [50, 100]);
});
