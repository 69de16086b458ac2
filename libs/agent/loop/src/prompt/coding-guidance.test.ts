import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CODING_GUIDANCE } from './sections.ts';

test('every line of the coding guidance has its reason in the documentation, in the same order', () => {
  const text = readFileSync(new URL('../../../../../docs/agent.md', import.meta.url), 'utf8');
  const [, table = ''] = text.split('### Coding guidance\n');
  const rows =
    table.split(/\n##+ /)[0]?.matchAll(/^\| (?!line \|)([^|-][^|]+) \| ([^|]+) \| ([^|]+) \|$/gm) ?? [];
  const documented = [...rows].map(([, line = '']) => `- ${line}`);
  assert.deepEqual(['# Working on Code', ...documented], CODING_GUIDANCE.split('\n'));
});

test('the coding guidance is short', () => {
  assert.ok(CODING_GUIDANCE.split('\n').length <= 9);
  assert.ok(CODING_GUIDANCE.length < 750, String(CODING_GUIDANCE.length));
});
