import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Defect } from './fleet/world.ts';
import { commandOf, readOptions } from './options.ts';
import { reportOf, verdictOf } from './report.ts';
import { shrink } from './shrink.ts';
import { type SimSettings, simulate } from './simulate.ts';

const SMALL: SimSettings = {
  seed: 1,
  workers: 4,
  tasks: 60,
  slots: 2,
  load: 0.9,
  taskSeconds: 10,
  faults: 0,
};

describe('a simulation', () => {
  it('has the same report, byte by byte, for the same seed, and another one for another seed', async () => {
    const settings = { ...SMALL, faults: 6 };
    const [first, again] = [reportOf(await simulate(settings)), reportOf(await simulate(settings))];
    assert.equal(first, again);
    assert.notEqual(first, reportOf(await simulate({ ...settings, seed: 2 })));
  });

  it('ends every task, and no invariant breaks, for 20 seeds with faults', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const result = await simulate({ ...SMALL, seed, faults: 8 });
      assert.equal(result.violation, undefined, `${commandOf(result.settings)}: ${verdictOf(result)}`);
      assert.equal(result.counts.ended, SMALL.tasks);
    }
  });

  const FOUND: readonly (readonly [Defect, string, Partial<SimSettings>])[] = [
    ['forget', 'no task lost', { faults: 8 }],
    ['repeat', 'none run twice', { faults: 12 }],
    ['overspend', 'budgets', {}],
    ['underreport', 'every token accounted for', {}],
    ['overfill', 'slots', {}],
    ['hang', 'progress', {}],
    ['lost-copy', 'none run twice', { faults: 12 }],
  ];
  for (const [defect, invariant, change] of FOUND)
    it(`finds the planted defect "${defect}" as a violation of "${invariant}"`, async () => {
      const found = new Set<string | undefined>();
      for (let seed = 1; seed <= 8 && !found.has(invariant); seed += 1)
        found.add((await simulate({ ...SMALL, ...change, seed, defect })).violation?.invariant);
      assert.ok(found.has(invariant), [...found].join(', '));
    });

  it('shortens a failing run to one that fails alike, and names the command that repeats it', async () => {
    const failing = await simulate({ ...SMALL, faults: 6, defect: 'overspend' });
    const { result } = await shrink(failing);
    assert.equal(result.violation?.invariant, failing.violation?.invariant);
    assert.ok(result.settings.tasks < failing.settings.tasks);
    assert.deepEqual(result.faults, []);
    const [, args = ''] = /ARGS='(.*)'/.exec(commandOf(result.settings)) ?? [];
    const { settings } = readOptions(args.split(' '));
    assert.equal(verdictOf(await simulate(settings)), verdictOf(result));
  });
});

describe('the options of a simulation', () => {
  it('name what is wrong', () => {
    assert.throws(() => readOptions(['--workers', '0']), /--workers takes whole numbers from 1 to 10000/);
    assert.throws(() => readOptions(['--load', 'much']), /--load takes a number above 0/);
    assert.throws(() => readOptions(['--defect', 'none']), /--defect is one of forget/);
    assert.throws(() => readOptions(['--scale', '--seed', '2']), /give no other option/);
    assert.throws(
      () => readOptions(['--faults', '3', '--only', '3']),
      /--only takes whole numbers from 0 to 2/,
    );
  });
});
