import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
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
  assert.throws(
    () => read('--write-baseline', '--concurrency', '32'),
    /--write-baseline needs --concurrency 1,8,32/,
  );
  assert.throws(() => read('--fast'), /--fast/);
});

test('a file that cannot be written is refused before the run', (t) => {
  const dir = tempDir(t);
  const page = join(dir, 'page.md');
  writeFileSync(page, '# no markers\n');
  assert.throws(() => read('--json', join(dir, 'none', 'x.json')), /--json: .*x\.json cannot be written/);
  assert.throws(() => read('--json', dir), /--json: .* it is not a file/);
  assert.throws(() => read('--markdown', page), /--markdown: .*page\.md lacks the lines/);
  assert.equal(read('--json', join(dir, 'x.json')).json, join(dir, 'x.json'));
});
