import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelValues } from './labels.ts';

test('a label keeps its known values and replaces others', () => {
  const { known, bound } = labelValues(['neo', 'trinity', 'neo']);
  assert.deepEqual(known, ['neo', 'trinity']);
  assert.deepEqual(['neo', 'trinity', 'smith', '', '__proto__'].map(bound), [
    'neo',
    'trinity',
    'other',
    'other',
    'other',
  ]);
});

test('an open label keeps its first names up to its bound', () => {
  const { bound } = labelValues(['mcp'], { more: 2 });
  assert.deepEqual(['mcp', 'a', 'b', 'c', 'a', 'mcp', 'd'].map(bound), [
    'mcp',
    'a',
    'b',
    'other',
    'a',
    'mcp',
    'other',
  ]);
});

test('a label that keeps to its known values has no other', () => {
  const { bound } = labelValues(['mcp'], { knownOnly: true });
  assert.deepEqual(['mcp', 'a'].map(bound), ['mcp', undefined]);
});

test('free text is never a label', () => {
  const { bound } = labelValues([], { more: 10 });
  for (const text of ['', 'two words', 'x'.repeat(65), 'new\nline', 'quote"', 'héllo'])
    assert.equal(bound(text), 'other');
  for (const name of ['tools/call', '/tasks/:id', '/jsonrpc', 'a.b-c_d', '*', '1.0.0+build'])
    assert.equal(bound(name), name);
});
