import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Baseline, compare, readBaseline, refuseMixture, toBaseline } from './baseline.ts';
import type { Figure } from './section.ts';

const figure = (key: string, values: readonly number[], better: Figure['better'] = 'higher'): Figure => ({
  key,
  unit: 'ratio',
  better,
  values,
});
const A = { sections: ['a'], concurrency: [1, 8, 32] };
const baseline = (ratios: Baseline['ratios']): Baseline => ({ machine: 'm', ratios });
const kinds = (figures: readonly Figure[], before: Baseline): string[] =>
  compare(figures, A, before).map(({ kind, key }) => `${kind} ${key}`);

test('a ratio that fell by more than the noise is named as worse, with both values', () => {
  const before = baseline({ 'a.rate': { median: 1, spread: 0.05 } });
  assert.deepEqual(compare([figure('a.rate', [0.8, 0.8, 0.8])], A, before), [
    {
      key: 'a.rate',
      kind: 'worse',
      text: 'a.rate is worse: 0.8 instead of 1, a factor of 1.25 (noise 1.1)',
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
  assert.deepEqual(kinds([figure('a.x', rounds)], baseline({ 'a.x': { median: 1, spread: 0.3 } })), []);
  assert.deepEqual(kinds([figure('a.x', [0.7])], baseline({ 'a.x': { median: 1, spread: 0.2 } })), [
    'worse a.x',
  ]);
});

test('a collapse is worse, however far its rounds differ among themselves', () => {
  const before = baseline({ 'a.x': { median: 1, spread: 0.1 } });
  assert.deepEqual(kinds([figure('a.x', [0.005, 0.01, 0.02])], before), ['worse a.x']);
  assert.deepEqual(kinds([figure('a.x', [0.1, 0.5, 3])], before), ['worse a.x'], 'half is never noise');
  assert.deepEqual(kinds([figure('a.x', [0.1, 0.7, 3])], before), [], 'within the most that noise can be');
});

test('a ratio of another number of requests at a time was not measured, and is not missing', () => {
  const ratio = { median: 1, spread: 0 };
  const before = baseline({ 'a.1.x': ratio, 'a.32.x': ratio, 'a.100_to_1.x': ratio });
  const missing = compare([], { sections: ['a'], concurrency: [32] }, before).map(({ key }) => key);
  assert.deepEqual(missing, ['a.32.x', 'a.100_to_1.x']);
});

test('a baseline never holds ratios of two machines', () => {
  const earlier = baseline({ 'a.x': { median: 1, spread: 0 }, 'b.x': { median: 1, spread: 0 } });
  assert.throws(() => refuseMixture(['a'], 'other', earlier), /ratios of another machine \(m\).*also b$/);
  refuseMixture(['a'], 'm', earlier);
  refuseMixture(['a', 'b'], 'other', earlier);
});

test('a ratio that is no longer measured is missing, unless its section did not run', () => {
  const before = baseline({ 'a.x': { median: 1, spread: 0 }, 'b.x': { median: 1, spread: 0 } });
  assert.deepEqual(kinds([], before), ['missing a.x']);
  assert.deepEqual(kinds([figure('a.x', [Number.NaN])], before), ['missing a.x']);
  assert.deepEqual(kinds([figure('a.x', [1]), figure('a.y', [1])], before), ['new a.y']);
});

test('only ratios are compared, because other figures depend on the machine', () => {
  const absolute: Figure = { key: 'a.ms', unit: 'ms', better: 'lower', values: [5] };
  assert.deepEqual(compare([absolute], A, baseline({})), []);
  assert.deepEqual(toBaseline([absolute], ['a'], 'm', baseline({})).ratios, {});
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
