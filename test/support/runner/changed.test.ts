import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { changedFiles, selectChanged } from './changed.ts';
import { FOLDERS, findTestFiles } from './test-files.ts';

const TREE: Readonly<Record<string, string>> = {
  'README.md': 'read',
  'libs/a/package.json': '{}',
  'libs/a/src/one.ts': 'export const one = 1;',
  'libs/a/src/two.ts': "import { one } from './one.ts';",
  'libs/a/src/one.test.ts': "import { one } from './one.ts';",
  'libs/a/src/two.test.ts': "import './two.ts';",
  'libs/a/src/testing/child.ts': "import '../one.ts';",
  'libs/a/src/spawns.test.ts': "join(import.meta.dirname, 'testing/child.ts');",
  'libs/a/src/other.test.ts': "import 'node:test';",
  'libs/b/src/b.test.ts': "import '../../a/src/one.ts';",
  'test/support/help.ts': '',
  'test/support/help.test.ts': "import './help.ts';",
  'test/agent/crash.slow.test.ts': "import '../support/help.ts';",
  'test/fleet/fleet.slow.test.ts': "import '../support/help.ts';",
  'test/repository/rules.test.ts': '',
  'deploy/docker/image.slow.test.ts': '',
  'deploy/script.sh': '',
  'deploy/script.test.ts': '',
};
const RULES = 'test/repository/rules.test.ts';

function tree(t: TestContext): { root: string; write: (file: string, text: string) => void } {
  const root = tempDir(t);
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  for (const [file, text] of Object.entries(TREE)) write(file, text);
  return { root, write };
}

test('a change concerns the tests of its package that reach it, and the rules of the repository', (t) => {
  const { root } = tree(t);
  const files = findTestFiles(root, FOLDERS);
  const a = (name: string): string => `libs/a/src/${name}.test.ts`;
  for (const [changed, concerned] of [
    [[], []],
    [['libs/a/src/one.ts'], [a('one'), a('spawns'), a('two')]],
    [['libs/a/src/two.ts'], [a('two')]],
    [['libs/a/src/other.test.ts'], [a('other')]],
    [['libs/a/src/gone.ts'], []],
    [['libs/a/package.json'], [a('one'), a('other'), a('spawns'), a('two')]],
    [['README.md', 'package.json'], []],
    [['deploy/script.sh'], ['deploy/script.test.ts']],
    [['test/support/help.ts'], ['test/support/help.test.ts']],
    [
      ['test/fleet/fleet.slow.test.ts', 'test/agent/crash.slow.test.ts', 'deploy/docker/image.slow.test.ts'],
      [],
    ],
  ] as const)
    assert.deepEqual(selectChanged(root, files, changed), [...concerned, RULES].sort(), changed.join());
});

test('changed is what was committed since the main branch, what is uncommitted, and what is new', (t) => {
  const { root, write } = tree(t);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], { cwd: root });
  git('init', '-q', '-b', 'main');
  const commit = (): void => {
    git('add', '--all');
    git('commit', '-q', '-m', 'A commit');
  };
  commit();
  assert.deepEqual(changedFiles(root), []);
  git('switch', '-q', '-c', 'work');
  write('libs/a/src/one.ts', 'export const one = 11;');
  commit();
  write('libs/a/src/two.ts', '');
  write('libs/b/src/with space.ts', '');
  rmSync(join(root, 'README.md'));
  assert.deepEqual(changedFiles(root), [
    ...['README.md', 'libs/a/src/one.ts', 'libs/a/src/two.ts', 'libs/b/src/with space.ts'],
  ]);
  git('switch', '-q', 'main', '--discard-changes');
  assert.deepEqual(changedFiles(root), ['libs/b/src/with space.ts']);
});
