import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { chooseFiles } from './choose-files.ts';
import { readOptions } from './options.ts';
import { reachGraph } from './reach.ts';
import type { SuiteRecord } from './suite-record.ts';
import { FOLDERS, findTestFiles } from './test-files.ts';

const SLOW = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `libs/${name}/src/${name}.slow.test.ts`);
const FAST = 'libs/a/src/a.test.ts';

/** A repository whose slow test files each import one source file, with all of them on the record of its last commit. */
function repository(t: TestContext) {
  const root = tempDir(t);
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  for (const file of SLOW) {
    write(file, "import './source.ts';");
    write(join(dirname(file), 'source.ts'), 'export {};');
  }
  write(FAST, '');
  git('init', '-q', '-b', 'main');
  git('add', '--all');
  git('commit', '-q', '-m', 'A commit');
  const files = Object.fromEntries([...SLOW, FAST].map((file) => [file, 1]));
  const record: SuiteRecord = { commit: git('rev-parse', 'HEAD'), cpu_s: 7, files, with_skipped: [] };
  const choose = (args: string, of: SuiteRecord = record) => {
    const existing = findTestFiles(root, FOLDERS);
    const options = readOptions(args.split(' ').filter(Boolean));
    const graph = (changed: ReadonlySet<string>) => reachGraph(root, changed);
    const { groups, leftOut, lines } = chooseFiles({ root, options, existing, record: of, graph });
    return { due: groups[0], part: groups[1], leftOut, lines };
  };
  return { root, write, choose, record };
}

test('without options the fast files run, with a folder all of it, and a tier narrows both', (t) => {
  const { choose } = repository(t);
  assert.deepEqual(choose('').due, [FAST]);
  assert.deepEqual(choose('libs/a').due, [SLOW[0], FAST]);
  assert.deepEqual(choose('--tier slow libs/a').due, [SLOW[0]]);
  assert.deepEqual(choose('--tier all').due?.length, 7);
});

test('what is due runs, then a sixth of the others; the rest is left out', (t) => {
  const { root, write, choose, record } = repository(t);
  write('libs/c/src/source.ts', 'export const changed = 1;');
  // One commit: the sixth is the second of six files.
  assert.deepEqual(choose('--tier slow --due --sixth'), {
    due: [SLOW[2]],
    part: [SLOW[1]],
    leftOut: [SLOW[0], ...SLOW.slice(3)],
    lines: ['1 files are due, and 1 of the other 5 run too'],
  });
  assert.deepEqual(choose('--tier all --due').part, []);
  const { due, lines } = choose('--tier slow --due', { ...record, commit: 'f'.repeat(40) });
  assert.deepEqual(due, SLOW);
  assert.match(lines[0] ?? '', /does not have the commit of test\/suite\.json/);
  rmSync(join(root, 'libs/e/src/source.ts'));
  assert.deepEqual(choose('--tier slow --due').due, [SLOW[2], SLOW[4]], 'a removed file makes its tests due');
});

for (const [args, reason] of [
  ['--tier quick', /--tier quick: must be fast, slow or all/],
  ['--until soon', /--until soon: must be seconds since 1970/],
  ['--sixth', /--sixth goes with --due/],
  ['--record', /--record goes with --tier all/],
  ['--record --tier all libs/a', /--record goes with --tier all/],
  ['--record --tier all --due --sixth', /--record goes with --tier all/],
  ['--record --tier all --changed', /--record goes with --tier all/],
  ['--frobnicate', /--frobnicate/],
] as const)
  test(`the runner refuses ${args}`, () => {
    assert.throws(() => readOptions(args.split(' ')), reason);
  });
