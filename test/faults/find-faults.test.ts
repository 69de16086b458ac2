import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { packageFolders, packageOf } from '../support/packages.ts';
import { reachGraph } from '../support/runner/reach.ts';
import { findFaults } from './find-faults.ts';
import { candidates, type Tier } from './order.ts';
import { readFaults } from './read-faults.ts';

const ADD = 'libs/a/src/add.ts';
const FILES: Readonly<Record<string, string>> = {
  '.gitignore': '.cache/\nnode_modules/\n',
  [ADD]: 'export const add = (a: number, b: number) => a + b;\nexport const limit = 3;\n',
  'libs/a/src/add.test.ts': testOf('./add.ts', 'add', 'add(1, 2) === 3'),
  'libs/a/src/broken.test.ts': testOf('./add.ts', 'add', 'add(1, 1) === 3'),
  'libs/b/src/b.slow.test.ts': testOf('../../a/src/add.ts', 'limit', 'limit === 3'),
};
const SUM: readonly [string, string] = ['a + b', 'a - b'];
const LIMIT: readonly [string, string] = ['limit = 3', 'limit = 4'];

/** A test file that imports a name, and demands something of it. */
function testOf(from: string, name: string, demand: string): string {
  return `import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { ${name} } from '${from}';\ntest('it', () => assert.ok(${demand}));\n`;
}

/** A repository with a folder of patches, each of which replaces a text of `add.ts`. */
function repository(t: TestContext, faults: Readonly<Record<string, readonly [string, string]>>) {
  const root = tempDir(t);
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
  git('init', '-q', '-b', 'main');
  git('add', '--all');
  git('commit', '-q', '-m', 'A commit');
  const patches = tempDir(t);
  const before = FILES[ADD] ?? '';
  for (const [name, [old, replacement]] of Object.entries(faults)) {
    writeFileSync(join(root, ADD), before.replace(old, replacement));
    const diff = git('diff');
    writeFileSync(join(patches, `${name}.patch`), `It keeps ${old}.\n\n${diff}`);
  }
  writeFileSync(join(root, ADD), before);
  return { root, faults: readFaults(patches), patches };
}

async function find({ root, faults }: ReturnType<typeof repository>, tier: Tier) {
  const lines: string[] = [];
  const options = { root, faults, tier, costs: {}, print: (line: string) => lines.push(line) };
  const found = await findFaults(options);
  return { found, text: lines.join('\n').replaceAll(/[\d.]+ CPU s/g, '- CPU s') };
}

test('a fault is found by a test that passes without it; the repository stays as it was', async (t) => {
  const planted = repository(t, { limit: LIMIT, sum: SUM });
  assert.deepEqual(await find(planted, 'all'), {
    found: 2,
    text: [
      'limit: found by libs/b/src/b.slow.test.ts (3 of 3 files, - CPU s)',
      'sum: found by libs/a/src/add.test.ts (1 of 3 files, - CPU s)',
    ].join('\n'),
  });
  assert.equal(readFileSync(join(planted.root, ADD), 'utf8'), FILES[ADD]);
  assert.deepEqual(readdirSync(join(planted.root, '.cache')), []);
});

test('a fault that no test of the tier finds is named with its promise', async (t) => {
  const planted = repository(t, { limit: LIMIT });
  assert.deepEqual(await find(planted, 'fast'), {
    found: 0,
    text: 'limit: NOT FOUND (2 of 2 files, - CPU s)\n  It keeps limit = 3.',
  });
});

test('what is not committed yet is searched too', async (t) => {
  const planted = repository(t, { limit: LIMIT });
  const own = testOf('./add.ts', 'limit', 'limit < 4');
  writeFileSync(join(planted.root, 'libs/a/src/new.test.ts'), own);
  const { text } = await find(planted, 'fast');
  assert.match(text, /^limit: found by libs\/a\/src\/new\.test\.ts/);
});

test('a patch that does not apply fails before any test runs', async (t) => {
  const planted = repository(t, { sum: SUM });
  writeFileSync(join(planted.root, ADD), 'export const add = 1;\n');
  await assert.rejects(
    find(planted, 'all'),
    /^Error: sum does not apply: error: patch failed: libs\/a\/src\/add\.ts/,
  );
  assert.deepEqual(readdirSync(join(planted.root, '.cache')), []);
});

test('a patch without a promise or a changed file is refused', (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'a.patch'), '--- a/x\n+++ b/x\n');
  assert.throws(() => readFaults(dir), /must be a line that says which promise breaks/);
  writeFileSync(join(dir, 'a.patch'), 'It holds.\n');
  assert.throws(() => readFaults(dir), /must be a line that says which promise breaks/);
});

test('near files of the same package are tried first, and dear ones after those that are a little farther', (t) => {
  const { root } = repository(t, {});
  const use = "import '../../../a/src/use.ts';";
  const extra = {
    'libs/a/src/use.ts': "import './add.ts';",
    'libs/a/src/add-dear.test.ts': "import './add.ts';",
    'libs/a/src/of-folder.test.ts': "import './use.ts';",
    'libs/a/src/in/of-package.test.ts': use,
    'libs/b/src/in/of-another.test.ts': use,
    'libs/a/src/unrelated.test.ts': '',
  };
  for (const [file, text] of Object.entries(extra)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const names = Object.keys({ ...FILES, ...extra }).filter((file) => file.endsWith('.test.ts'));
  const costs = {
    'libs/a/src/add.test.ts': 2,
    'libs/a/src/broken.test.ts': 3,
    'libs/a/src/add-dear.test.ts': 20,
  };
  assert.deepEqual(candidates(root, names, [ADD], { graph: reachGraph(root), costs, tier: 'fast' }), [
    'libs/a/src/add.test.ts',
    'libs/a/src/broken.test.ts',
    'libs/a/src/of-folder.test.ts',
    'libs/a/src/in/of-package.test.ts',
    'libs/a/src/add-dear.test.ts',
    'libs/b/src/in/of-another.test.ts',
  ]);
});

test('there are forty faults, in every package, and each changes at most five lines of files that exist', () => {
  const root = resolve(import.meta.dirname, '../..');
  const faults = readFaults(join(import.meta.dirname, 'patches'));
  assert.equal(faults.length, 40);
  const files = faults.flatMap(({ files }) => files);
  assert.deepEqual(
    packageFolders(root).filter((each) => !files.some((file) => packageOf(file) === each)),
    [],
  );
  for (const { path, name, files } of faults) {
    const lines = readFileSync(path, 'utf8').split('\n');
    assert.ok(lines.filter((line) => /^\+(?!\+\+ )/.test(line)).length <= 5, name);
    assert.ok(
      files.every((file) => existsSync(join(root, file))),
      name,
    );
  }
});
