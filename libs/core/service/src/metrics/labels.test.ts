import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowList, bounded } from './labels.ts';

test('an allowlist keeps its names and replaces other values', () => {
  const label = allowList(['neo', 'trinity']);
  assert.deepEqual(['neo', 'trinity', 'smith', '', '__proto__'].map(label), [
    'neo',
    'trinity',
    'other',
    'other',
    'other',
  ]);
});

test('an open label keeps its first names up to its bound', () => {
  const label = bounded(3, ['mcp']);
  assert.deepEqual(['mcp', 'a', 'b', 'c', 'a', 'mcp', 'd'].map(label), [
    'mcp',
    'a',
    'b',
    'other',
    'a',
    'mcp',
    'other',
  ]);
});

test('free text is never a label', () => {
  const label = bounded(10);
  for (const text of ['', 'two words', 'x'.repeat(65), 'new\nline', 'quote"', 'héllo'])
    assert.equal(label(text), 'other');
  for (const name of ['tools/call', '/tasks/:id', '/jsonrpc', 'a.b-c_d', '*'])
    assert.equal(label(name), name);
});
