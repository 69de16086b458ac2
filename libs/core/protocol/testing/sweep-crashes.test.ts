import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { around, lifeUntil, sample, sweepCrashes } from './index.ts';

const CASES = Array.from({ length: 10 }, (_, at) => at);
const quiet = { diagnostic: (): void => undefined };

describe('sample', () => {
  it('takes one case or every n-th, and says how to take them again', () => {
    const said: string[] = [];
    const say = (line: string): void => void said.push(line);
    const one = sample(CASES, 'one', say, {});
    const third = sample(CASES, 3, say, {});
    assert.deepEqual([one.length, new Set(third.map((each) => each % 3)).size], [1, 1]);
    assert.equal(said[0], `1 of 10 cases: SAMPLE_FROM=${one[0]}`);
    assert.match(said[1] ?? '', /^[34] of 10 cases: SAMPLE_FROM=[012], or EXHAUSTIVE=1 for all$/);
    assert.deepEqual(sample(CASES, 1, say, {}), CASES);
  });

  it('takes the cases again that were named, and every case of a share with EXHAUSTIVE=1', () => {
    const say = (): void => undefined;
    assert.deepEqual(sample(CASES, 3, say, { SAMPLE_FROM: '1' }), [1, 4, 7]);
    assert.deepEqual(sample(CASES, 'one', say, { SAMPLE_FROM: '7', EXHAUSTIVE: '1' }), [7]);
    assert.deepEqual(sample(CASES, 3, say, { SAMPLE_FROM: '1', EXHAUSTIVE: '1' }), CASES);
    assert.equal(sample([0, 1], 3, say, { SAMPLE_FROM: '2' }).length, 1, 'a share is never empty');
  });
});

describe('a life', () => {
  it('does not begin a write before which it dies, nor answer one after which it dies', async () => {
    for (const [moment, done] of [
      [0, ['first', 'second']],
      [2, ['first']],
      [3, ['first']],
    ] as const) {
      const written: string[] = [];
      const life = lifeUntil(moment);
      const store = { name: 'x', write: async (what: string) => written.push(what), read: async () => 1 };
      const mortal = around(store, ['write'], life.write);
      const writes = mortal.write('first').then(() => mortal.write('second'));
      await (moment === 0 ? writes : life.died);
      life.bury();
      if (moment > 0) await assert.rejects(writes, /killed/);
      assert.deepEqual(written, done, `died at ${moment}`);
      assert.deepEqual([mortal.name, await mortal.read(), life.moments], ['x', 1, moment || 4]);
    }
  });
});

describe('sweepCrashes', () => {
  it('checks what each point leaves, side by side, and its error names the point', async () => {
    const checked: string[] = [];
    const sweep = {
      share: 1,
      atOnce: 2,
      start: () => ['a', 'b', 'c'],
      act: async (point: string) => `${point} dead`,
      check: (left: string, point: string) => void checked.push(`${point}: ${left}`),
    };
    assert.equal(await sweepCrashes(quiet, sweep), 3);
    assert.deepEqual(checked.sort(), ['a: a dead', 'b: b dead', 'c: c dead']);
    const outlived = {
      ...sweep,
      act: async (point: string) => (point === 'b' ? assert.fail('alive') : point),
    };
    await assert.rejects(sweepCrashes(quiet, outlived), /^Error: died at "b"$/);
    await assert.rejects(sweepCrashes(quiet, { ...sweep, start: () => [] }), /no point to die at/);
  });
});
