import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { doc } from '../support/docs.ts';
import { ROOT } from '../support/fleet.ts';
import { withMetrics } from '../support/metrics-docs.ts';

const at1 = (match: RegExpMatchArray): string => match[1] ?? '';

test('metrics.md has every alert', () => {
  const written = [...doc('docs/metrics.md').matchAll(/^\| ([A-Z]\w+) \|/gm)].map(at1);
  const rules = globSync('deploy/prometheus/rules/*.rules.yml', { cwd: ROOT }).map(doc).join('\n');
  assert.deepEqual(written.sort(), [...rules.matchAll(/- alert: (\w+)/g)].map(at1).sort());
});

test('metrics.md has every family as the code has it', () => {
  const text = doc('docs/metrics.md');
  assert.equal(text, withMetrics(text), 'docs/metrics.md is stale; run: node test/support/metrics-docs.ts');
});
