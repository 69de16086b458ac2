import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchesName, namePatternProblem } from './name-pattern.ts';

describe('a name pattern', () => {
  const table: [pattern: string, name: string, matches: boolean][] = [
    ['tank', 'tank', true],
    ['tank', 'Tank', false],
    ['tank', 'tanks', false],
    ['worker-*', 'worker-1', true],
    ['worker-*', 'worker-', true],
    ['worker-*', 'worker', false],
    ['*-gpu', 'a-gpu', true],
    ['*-gpu', 'a-gpu-b', false],
    ['w*-*z', 'w1-2z', true],
    ['w*-*z', 'w1z', false],
    ['a*a', 'a', false],
    ['*', 'anything', true],
    ['*', 'auto', false],
    ['*', 'no name', false],
    ['*', 'a\nb', false],
    ['*', '', false],
    ['*', 'x'.repeat(65), false],
  ];
  for (const [pattern, name, matches] of table)
    it(`${pattern} ${matches ? 'matches' : 'does not match'} ${JSON.stringify(name)}`, () => {
      assert.equal(namePatternProblem(pattern), undefined);
      assert.equal(matchesName(pattern, name), matches);
    });

  for (const pattern of ['', ' ', '(a|b)', '-x', 'a b'])
    it(`must not be ${JSON.stringify(pattern)}`, () =>
      assert.match(namePatternProblem(pattern) ?? '', /must be a name/));
});
