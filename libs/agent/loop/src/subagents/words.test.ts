import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countWords, firstWords } from './full-text.ts';

test('a text without spaces counts as more than one word', () => {
  assert.equal(countWords(''), 0);
  assert.equal(countWords(' one  two\nthree '), 3);
  assert.equal(countWords('字'.repeat(1200)), 100);
});

test('firstWords keeps the beginning within the limit', () => {
  assert.equal(firstWords('one two three', 3), 'one two three');
  assert.equal(firstWords('one two three', 2), 'one two');
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.integer({ min: 1, max: 30 }),
      (text, max) => {
        const kept = firstWords(text, max);
        assert.ok(countWords(kept) <= max, `${countWords(kept)} of ${max}`);
        assert.ok(kept.isWellFormed() || !text.isWellFormed());
      },
    ),
  );
});
