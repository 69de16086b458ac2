import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Baseline, compare, readBaseline, toBaseline } from './baseline.ts';
import type { Figure } from './section.ts';

const figure = (key: string, values: readonly number[], better: Figure['better'] = 'higher'): Figure => ({
  key,
  unit: 'ratio',
  better,
  values,
});
const baseline = (ratios: Baseline['ratios']): Baseline => ({ machine: 'm', ratios });
const kinds = (figures: readonly Figure[], before: Baseline): string[] =>
  compare(figures, ['a'], before).map(({ kind, key }) => `${kind} ${key}`);

test('a ratio that fell by more than the noise is named as worse, with both values', () => {
  const before = baseline({ 'a.rate': { median: 1, spread: 0.05 } });
  assert.deepEqual(compare([figure('a.rate', [0.8, 0.8, 0.8])], ['a'], before), [
    {
      key: 'a.rate',
      kind: 'worse',
      text: 'a.rate is worse: 0.8 instead of 1, 20 % (noise 10 %)',
    },
  ]);
  assert.deepEqual(kinds([figure('a.rate', [0.92])], before), [], 'a change below a tenth is noise');
  assert.deepEqual(kinds([figure('a.rate', [1.3])], before), ['better a.rate']);
});

test('for a ratio that is better when lower, a rise is worse', () => {
  const before = baseline({ 'a.p99': { median: 2, spread: 0 } });
  assert.deepEqual(kinds([figure('a.p99', [3], 'lower')], before), ['worse a.p99']);
  assert.deepEqual(kinds([figure('a.p99', [1], 'lower')], before), ['better a.p99']);
});

test('the spread of the rounds of either run counts as noise', () => {
  const rounds = [0.6, 0.7, 0.8, 0.9];
  assert.deepEqual(kinds([figure('a.x', rounds)], baseline({ 'a.x': { median: 1, spread: 0 } })), [
    'worse a.x',
  ]);
  assert.deepEqual(kinds([figure('a.x', rounds)], baseline({ 'a.x': { median: 1, spread: 0.2 } })), []);
  assert.deepEqual(kinds([figure('a.x', [0.7])], baseline({ 'a.x': { median: 1, spread: 0.2 } })), [
    'worse a.x',
  ]);
});

test('a ratio that is no longer measured is missing, unless its section did not run', () => {
  const before = baseline({ 'a.x': { median: 1, spread: 0 }, 'b.x': { median: 1, spread: 0 } });
  assert.deepEqual(kinds([], before), ['missing a.x']);
  assert.deepEqual(kinds([figure('a.x', [Number.NaN])], before), ['missing a.x']);
  assert.deepEqual(kinds([figure('a.x', [1]), figure('a.y', [1])], before), ['new a.y']);
});

test('only ratios are compared, because other figures depend on the machine', () => {
  const absolute: Figure = { key: 'a.ms', unit: 'ms', better: 'lower', values: [5] };
  assert.deepEqual(compare([absolute], ['a'], baseline({})), []);
  assert.deepEqual(toBaseline([absolute], ['a'], 'm').ratios, {});
});

test('a baseline keeps the ratios of sections that did not run, and replaces those that did', () => {
  const earlier = baseline({
    'a.gone': { median: 1, spread: 0 },
    'b.x': { median: 2, spread: 0.1 },
  });
  assert.deepEqual(toBaseline([figure('a.x', [1, 2, 3.456])], ['a'], 'other', earlier), {
    machine: 'other',
    ratios: { 'a.x': { median: 2, spread: 1.23 }, 'b.x': { median: 2, spread: 0.1 } },
  });
});

test('a file that is not a baseline is refused with its name and what to do', (t) => {
  const file = join(tempDir(t), 'baseline.json');
  writeFileSync(file, JSON.stringify({ machine: 'm', ratios: { 'a.x': { median: '1', spread: 0 } } }));
  assert.throws(() => readBaseline(file), /baseline\.json is not a baseline; .*--write-baseline.*median/s);
  const right = baseline({ 'a.x': { median: 1, spread: 0 } });
  writeFileSync(file, JSON.stringify(right));
  assert.deepEqual(readBaseline(file), right);
});
