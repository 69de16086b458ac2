import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { reachGraph } from './reach.ts';

const PACKAGE = JSON.stringify({
  name: '@hermes-fleet/a',
  exports: { '.': './src/index.ts', './testing': './src/testing/index.ts' },
});
const A: Readonly<Record<string, string>> = {
  'libs/a/package.json': PACKAGE,
  'libs/a/src/index.ts': [
    "export { one, type One } from './one.ts';",
    "export type { Two } from './two.ts';",
    "export { two as second } from './two.ts';",
    "export * from './more.ts';",
  ].join('\n'),
  'libs/a/src/one.ts': "import { base } from './base.ts';\nexport const one = base;",
  'libs/a/src/two.ts': 'export function two() {}',
  'libs/a/src/more.ts': "export {\n  three,\n} from './three.ts';\nexport const more = 1;",
  'libs/a/src/three.ts': 'export const three = 3;',
  'libs/a/src/base.ts': 'const base = 0;\nexport { base };',
  'libs/a/src/testing/index.ts': "export { help } from './help.ts';",
  'libs/a/src/testing/help.ts': 'export async function help() {}',
};
const TEST = 'libs/b/src/b.test.ts';

function write(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = tempDir(t);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}

/** The files that a test file of this text reaches, besides itself and the versions of packages. */
function reached(t: TestContext, text: string, others: Readonly<Record<string, string>> = {}, at = TEST) {
  const graph = reachGraph(write(t, { ...A, ...others, [at]: text }));
  const files = [...graph.filesOf(at).keys()];
  return files.filter((file) => file !== at && !file.endsWith('package.json')).sort();
}
const a = (...names: string[]): string[] => names.map((name) => `libs/a/src/${name}.ts`);

test('an import through an index reaches the files that declare its names, and those that pass them on', (t) => {
  for (const [text, files] of [
    ["import { one } from '@hermes-fleet/a';", a('base', 'index', 'one')],
    ["import {\n  second as other,\n} from '@hermes-fleet/a';", a('index', 'two')],
    ["import { three } from '@hermes-fleet/a';", a('index', 'more', 'three')],
    ["import { more } from '@hermes-fleet/a';", a('index', 'more')],
    ["import { help } from '@hermes-fleet/a/testing';", a('testing/help', 'testing/index')],
    ["import * as all from '@hermes-fleet/a';", a('base', 'index', 'more', 'one', 'three', 'two')],
    ["const all = await import('@hermes-fleet/a');", a('base', 'index', 'more', 'one', 'three', 'two')],
    ["import '../../a/src/one.ts';", a('base', 'one')],
  ] as const)
    assert.deepEqual(reached(t, text), files, text);
});

test('types and packages of others reach nothing', (t) => {
  for (const text of [
    "import type { One } from '@hermes-fleet/a';",
    "import { type One } from '@hermes-fleet/a';",
    "export type { One } from '../../a/src/one.ts';",
    "import { test } from 'node:test';",
  ])
    assert.deepEqual(reached(t, text), [], text);
});

test('a path in a text reaches its file, from the file or from the root; a path of a folder what is no TypeScript', (t) => {
  const others = { 'deploy/x/a.yaml': '', 'deploy/x/in/b.sql': '', 'deploy/x/c.ts': '', 'README.md': '' };
  for (const [text, files] of [
    ["join(import.meta.dirname, '../../a/src/two.ts')", a('two')],
    ['spawn(`libs/a/src/two.ts`)', a('two')],
    ["read(ROOT, 'README.md')", ['README.md']],
    ["join(ROOT, 'deploy/x')", ['deploy/x/a.yaml', 'deploy/x/in/b.sql']],
    ['join(ROOT, `deploy/x/in/$' + '{name}.sql`)', ['deploy/x/in/b.sql']],
    ["join(import.meta.dirname, '../../..')", []],
    ["'deploy'", []],
  ] as const)
    assert.deepEqual(reached(t, text, others), files, text);
});

test('a name without a slash is a file of the root in a test below test/; a document only where the root is named', (t) => {
  const others = {
    Dockerfile: '',
    'tsconfig.json': '',
    'README.md': '',
    'docs/a.txt': '',
    'examples/a.py': '',
  };
  const at = 'test/fleet/f.test.ts';
  for (const [text, files] of [
    ["['Dockerfile', 'tsconfig.json']", ['Dockerfile', 'tsconfig.json']],
    ['// `Dockerfile`', []],
    ["write('README.md')", []],
    ["doc('README.md')", ['README.md']],
    ["join(ROOT, 'README.md')", ['README.md']],
    ["join(ROOT, 'examples')", ['examples/a.py']],
    ["'docs'", []],
  ] as const)
    assert.deepEqual(reached(t, text, others, at), files, text);
  assert.deepEqual(reached(t, "names.has('tsconfig.json') && read('Dockerfile')", others), []);
});

test('a script reaches the programs that it runs', (t) => {
  const others = { fleet: 'exec sh "$(dirname "$0")/deploy/run.sh"', 'deploy/run.sh': '' };
  assert.deepEqual(reached(t, "spawn('./fleet')", others), ['deploy/run.sh', 'fleet']);
  assert.deepEqual(reached(t, "'deploy/run.sh'", { 'deploy/run.sh': 'node libs/a/src/two.ts' }), [
    ...['deploy/run.sh', ...a('two')],
  ]);
  const named = { 'deploy/run.sh': 'cp tsconfig.json "$dir"', 'tsconfig.json': '' };
  assert.deepEqual(reached(t, "'deploy/run.sh'", named), ['deploy/run.sh', 'tsconfig.json']);
});

test('what starts a fleet reaches every member and the shipped configuration', (t) => {
  const members = ['console', 'profile', 'trader'].map((name) => `services/${name}/src/main.ts`);
  const others = Object.fromEntries(
    [...members, 'deploy/trader/trader.yaml', 'test/support/fleet.ts'].map((file) => [file, '']),
  );
  assert.deepEqual(reached(t, "import '../support/fleet.ts';", others, 'test/fleet/f.test.ts'), [
    ...['deploy/trader/trader.yaml', ...members, 'test/support/fleet.ts'],
  ]);
});

test('of those that start the console, the ones that look at its pages reach them', (t) => {
  const web = 'services/console/src/web';
  const others = {
    [`${web}/static-files.ts`]: "join(import.meta.dirname, 'assets')",
    [`${web}/assets/a.css`]: '',
    'services/console/testing/web/browser.ts': '',
  };
  const names = (file: string): string[] => reached(t, `import '../../../services/console/${file}';`, others);
  assert.deepEqual(names('src/web/static-files.ts'), [`${web}/static-files.ts`]);
  assert.ok(names('testing/web/browser.ts').includes(`${web}/assets/a.css`));
});

test('a changed file that is gone is reached by what imports or names it, or its folder', (t) => {
  const gone = [...a('gone'), 'deploy/x/gone.sql', 'deploy/profiles/neo/gone.yaml'];
  const tests = {
    'test/one.test.ts': "import '../libs/a/src/gone.ts';",
    'test/two.test.ts': "join(ROOT, 'deploy/x')",
    'test/three.test.ts': "import './support/fleet.ts';",
    'test/four.test.ts': "import { one } from '@hermes-fleet/a';",
  };
  const { reaches } = reachGraph(write(t, { ...A, ...tests, 'test/support/fleet.ts': '' }), gone);
  const found = Object.keys(tests).map((file) => gone.filter((path) => reaches(file, new Set([path]))));
  assert.deepEqual(found, [...gone.map((path) => [path]), []]);
});

test('versions of packages are reached by every test, and the rules of the repository reach everything', (t) => {
  const rules = 'test/repository/r.test.ts';
  const graph = reachGraph(write(t, { ...A, 'package-lock.json': '', [TEST]: '', [rules]: '' }));
  assert.deepEqual([...graph.filesOf(TEST).keys()], [TEST, 'libs/a/package.json', 'package-lock.json']);
  assert.deepEqual([...graph.filesOf(rules).keys()].sort(), [
    ...[...Object.keys(A), 'package-lock.json', TEST, rules].sort(),
  ]);
});

test('a file is as far away as the fewest imports and paths that lead to it', (t) => {
  const graph = reachGraph(write(t, { ...A, [TEST]: "import { one } from '@hermes-fleet/a';" }));
  const steps = graph.filesOf(TEST);
  assert.deepEqual(
    [TEST, ...a('one', 'base')].map((file) => steps.get(file)),
    [0, 1, 2],
  );
});

test('a test reaches a set of files if it reaches one of them', (t) => {
  const graph = reachGraph(write(t, { ...A, [TEST]: "import { second } from '@hermes-fleet/a';" }));
  assert.equal(graph.reaches(TEST, new Set(a('one', 'two'))), true);
  assert.equal(graph.reaches(TEST, new Set([...a('one'), 'gone.ts'])), false);
});
