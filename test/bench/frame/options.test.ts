import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOptions } from './options.ts';
import type { Section } from './section.ts';

const section = (name: string, isDefault = true): Section => ({
  name,
  about: '',
  isDefault,
  run: async () => ({ tables: [], figures: [] }),
});
const SECTIONS = [section('a'), section('b'), section('rare', false)];
const read = (...args: string[]) => readOptions(args, SECTIONS);
const names = (...args: string[]): string[] => read(...args).sections.map(({ name }) => name);

test('without options every default section runs, seven rounds each', () => {
  assert.deepEqual(names(), ['a', 'b']);
  const { rounds, concurrency, check, writeBaseline } = read();
  assert.deepEqual(
    { rounds, concurrency, check, writeBaseline },
    {
      rounds: 7,
      concurrency: [1, 8, 32],
      check: false,
      writeBaseline: false,
    },
  );
});

test('sections run in their own order, and a rare one when it is named', () => {
  assert.deepEqual(names('--only', 'rare, a'), ['a', 'rare']);
});

test('a wrong option is refused with its name and what it may be', () => {
  assert.throws(() => read('--only', 'a,x'), /--only names no section x; there are: a, b, rare/);
  assert.throws(() => read('--rounds', '0'), /--rounds takes whole numbers from 1 to 100, not "0"/);
  assert.throws(
    () => read('--concurrency', '1,x'),
    /--concurrency takes whole numbers from 1 to 256, not "x"/,
  );
  assert.throws(
    () => read('--write-baseline', '--rounds', '3'),
    /--write-baseline needs at least --rounds 7/,
  );
  assert.throws(() => read('--fast'), /--fast/);
});
