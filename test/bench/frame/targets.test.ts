import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Figure } from './section.ts';
import { TARGETS, targetTable } from './targets.ts';

const outcomeOf = (key: string, better: Figure['better'], ...values: number[]): string | undefined =>
  targetTable([{ key, unit: 'ratio', better, values }])?.rows[0]?.at(-1);

test('a target says whether the median reaches its aim, what it must, or neither', () => {
  const rate = 'dispatch.32.durable_rate_to_sdk';
  assert.equal(outcomeOf(rate, 'higher', 1.4), 'aim met');
  assert.equal(outcomeOf(rate, 'higher', 0.1, 1.0, 9), 'met');
  assert.equal(outcomeOf(rate, 'higher', 0.99), 'missed');
  const cpu = 'dispatch.32.durable_cpu';
  assert.equal(outcomeOf(cpu, 'lower', 85), 'aim met');
  assert.equal(outcomeOf(cpu, 'lower', 110), 'met');
  assert.equal(outcomeOf(cpu, 'lower', 111), 'missed');
  assert.equal(outcomeOf(cpu, 'lower', Number.NaN), 'missed', 'what could not be measured reaches nothing');
});

test('the note of a figure stands below its outcome', () => {
  const key = 'dispatch.32.blocked_rate_to_bare';
  const rows = targetTable([
    { key, unit: 'ratio', better: 'higher', values: [0.21], note: 'limited by the load' },
  ])?.rows;
  assert.deepEqual([rows?.[0]?.at(-1), rows?.[1]?.[0]], ['met', '    limited by the load']);
});

test('targets whose figure was not measured are left out', () => {
  assert.equal(targetTable([]), undefined);
  assert.equal(TARGETS.length, new Set(TARGETS.map(({ key }) => key)).size);
});
