import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { packageFolders, packageOf } from '../support/packages.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The layers of docs/architecture.md: a package imports only from layers below its own. */
const LAYERS: Readonly<Record<string, number>> = {
  'libs/core/installation': 0,
  'libs/core/protocol': 0,
  'libs/core/net': 1,
  'libs/agent/workspace': 2,
  'libs/core/events': 2,
  'libs/core/service': 2,
  'libs/core/store': 2,
  'libs/trader/market': 2,
  'libs/core/fleet-config': 3,
  'libs/core/ledger': 3,
  'libs/core/mcp': 3,
  'libs/agent/loop': 4,
  'libs/fleet/a2a': 4,
  'libs/agent/claude-code': 5,
  'libs/fleet/peers': 5,
  'libs/fleet/tasks': 6,
  'libs/fleet/relay': 7,
  'libs/fleet/gateway': 8,
  'libs/cli': 9,
  'services/console': 10,
  'services/profile': 10,
  'services/trader': 10,
};

/** The groups that a group needs, besides itself. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  fleet: ['core'],
  agent: ['core'],
  trader: ['core'],
  cli: ['core', 'fleet'],
  services: ['core', 'fleet', 'agent', 'trader'],
};
const groupOf = (folder: string): string => folder.split('/').at(folder.startsWith('libs/') ? 1 : 0) ?? '';

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s*'([^']+)'/g;

const MAX_LINES = 300;

/** One state machine each, which reads better whole than over several files. */
const STATE_MACHINES = {
  maxLines: 400,
  files: [
    'libs/fleet/relay/src/relay.ts',
    'libs/fleet/tasks/src/running/runner.ts',
    'libs/fleet/tasks/src/scheduling/scheduler.ts',
  ],
};

/**
 * The one test kit that packages below may use: tests of libs/fleet/tasks and libs/fleet/relay observe tasks in a whole gateway, which
 * only libs/fleet/gateway composes.
 */
const GATEWAY_KIT = '@hermes-fleet/gateway/testing';
const KIT_USERS = ['libs/fleet/tasks', 'libs/fleet/relay'];

interface Arrow {
  readonly file: string;
  readonly specifier: string;
}

function arrows(): Arrow[] {
  const found: Arrow[] = [];
  const folders = packageFolders(ROOT).map((folder) => `${folder}/{src,testing}/**/*.ts`);
  for (const file of globSync(folders, { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const match of text.matchAll(IMPORT)) {
      const specifier = match[1] ?? match[2] ?? match[3];
      if (specifier) found.push({ file, specifier });
    }
  }
  return found;
}

const isTest = (file: string): boolean => file.endsWith('.test.ts') || file.includes('/testing/');

/** The rule that an import breaks, or undefined. */
function fault({ file, specifier }: Arrow): string | undefined {
  const from = packageOf(file) ?? file;
  const layer = LAYERS[from];
  if (layer === undefined)
    return `${from} has no layer: add it to the table in this test and in docs/architecture.md`;
  if (specifier.startsWith('.')) {
    const target = relative(ROOT, resolve(ROOT, dirname(file), specifier));
    if (!isTest(file) && target.startsWith(`${from}/testing/`))
      return `${file} imports ${target}, which the image does not have`;
    if (target.startsWith(`${from}/`)) return undefined;
    return file.endsWith('.test.ts') && target.startsWith('test/support/')
      ? undefined
      : `${file} reaches into ${target}: import the package by its name`;
  }
  const match = /^@hermes-fleet\/([^/]+)(\/.*)?$/.exec(specifier);
  if (!match) return undefined;
  const target = Object.keys(LAYERS).find((folder) => basename(folder) === match[1]) ?? specifier;
  const testing = match[2] === '/testing' && isTest(file);
  if (match[2] && !testing && !isEntryOf(target, match[2]))
    return `${file} imports ${specifier}: only a package's index is public`;
  const below = LAYERS[target];
  if (below === undefined) return `${file} imports ${specifier}, which has no layer`;
  if (specifier === GATEWAY_KIT && KIT_USERS.includes(from) && file.endsWith('.test.ts')) return undefined;
  if (below >= layer) return `${file} (layer ${layer}) imports ${specifier} (layer ${below})`;
  const [group, needed] = [groupOf(from), groupOf(target)];
  return group === needed || NEEDS[group]?.includes(needed)
    ? undefined
    : `${file} imports ${specifier}: ${group} does not need ${needed}`;
}

test('every import runs down the layers, through a package index', () => {
  const all = arrows();
  const importing = new Set(all.map(({ file }) => packageOf(file)));
  assert.deepEqual([...importing].sort(), Object.keys(LAYERS).sort());
  assert.deepEqual(all.map(fault).filter(Boolean), []);
});

/** A folder whose index the package offers by itself (`exports`), so that a program need not load the rest. */
function isEntryOf(target: string, path: string): boolean {
  const { exports } = JSON.parse(readFileSync(join(ROOT, target, 'package.json'), 'utf8'));
  return path !== '/testing' && exports[`.${path}`] === `./src${path}/index.ts`;
}

test('an import that runs up, sideways or into an inside is a fault', () => {
  const cases: Arrow[] = [
    { file: 'libs/core/protocol/src/x.ts', specifier: '@hermes-fleet/ledger' },
    { file: 'libs/core/ledger/src/x.ts', specifier: '@hermes-fleet/mcp' },
    { file: 'libs/agent/claude-code/src/x.ts', specifier: '@hermes-fleet/a2a' },
    { file: 'libs/fleet/relay/testing/x.ts', specifier: '@hermes-fleet/gateway/testing' },
    { file: 'libs/agent/loop/src/x.ts', specifier: '@hermes-fleet/gateway' },
    { file: 'libs/fleet/gateway/src/x.ts', specifier: '@hermes-fleet/ledger/src/outbox.ts' },
    { file: 'libs/fleet/gateway/src/x.ts', specifier: '../../ledger/src/outbox.ts' },
    { file: 'libs/fleet/peers/src/x.test.ts', specifier: '@hermes-fleet/relay/testing' },
    { file: 'libs/agent/loop/src/x.test.ts', specifier: '@hermes-fleet/gateway/testing' },
    { file: 'libs/agent/loop/src/x.ts', specifier: '@hermes-fleet/protocol/testing' },
    { file: 'libs/agent/loop/src/x.ts', specifier: '../testing/harness.ts' },
    { file: 'libs/unknown/src/x.ts', specifier: 'zod' },
  ];
  for (const arrow of cases) assert.ok(fault(arrow), `${arrow.file} -> ${arrow.specifier} went unnoticed`);
  for (const specifier of ['@hermes-fleet/ledger', '@hermes-fleet/a2a/client'])
    assert.equal(fault({ file: 'libs/fleet/gateway/src/x.ts', specifier }), undefined);
});

/** A package's entry points gather what its folders offer, so that they are no part of the folders' order. */
const isEntryPoint = (file: string): boolean =>
  packageOf(file) === dirname(dirname(file)) && /\/(index|main)\.ts$/.test(file);

/** The imports inside packages, from file to file or from folder to folder. Tests and test kits are left out. */
function inside(nameOf: (file: string) => string): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const { file, specifier } of arrows()) {
    if (!specifier.startsWith('.') || isEntryPoint(file)) continue;
    if (isTest(file)) continue;
    const [from, to] = [file, relative(ROOT, resolve(ROOT, dirname(file), specifier))].map(nameOf);
    if (from === undefined || to === undefined || from === to) continue;
    graph.set(from, (graph.get(from) ?? new Set()).add(to));
  }
  return graph;
}

/** One circle of a graph, as the names along it; undefined when there is none. */
function circle(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const finished = new Set<string>();
  const visit = (name: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name];
    if (finished.has(name)) return undefined;
    for (const next of graph.get(name) ?? []) {
      const found = visit(next, [...trail, name]);
      if (found) return found;
    }
    finished.add(name);
    return undefined;
  };
  for (const name of graph.keys()) {
    const found = visit(name, []);
    if (found) return found;
  }
  return undefined;
}

test('inside a package, no folder and no file depends on itself through others', () => {
  const folders = inside(dirname);
  assert.ok(folders.size > 20, `only ${folders.size} folders found: the search of this test is broken`);
  assert.equal(circle(folders)?.join(' -> '), undefined);
  assert.equal(circle(inside((file) => file))?.join(' -> '), undefined);
});

test('a circle is found', () => {
  const graph = new Map(Object.entries({ a: ['b'], b: ['c'], c: ['b'] }).map(([k, v]) => [k, new Set(v)]));
  assert.deepEqual(circle(graph), ['b', 'c', 'b']);
  graph.delete('c');
  assert.equal(circle(graph), undefined);
});

test('no file is longer than 300 lines, and no state machine than 400', () => {
  const long = globSync(['{libs,services,test,deploy,docs}/**/*.ts', 'services/**/*.{js,css}'], {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  })
    .map((file) => ({ file, lines: readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1 }))
    .filter(({ lines }) => lines > MAX_LINES);
  const tooLong = ({ file, lines }: { file: string; lines: number }): boolean =>
    !STATE_MACHINES.files.includes(file) || lines > STATE_MACHINES.maxLines;
  assert.deepEqual(long.filter(tooLong), []);
  // A file that has become short needs no exception.
  assert.deepEqual(long.map(({ file }) => file).sort(), STATE_MACHINES.files);
});

test('every package is on a layer, is named as its folder, is private, and declares what it imports', () => {
  const byPackage = Map.groupBy(arrows(), ({ file }) => packageOf(file));
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assert.deepEqual(packageFolders(ROOT), Object.keys(LAYERS).sort());
  for (const folder of packageFolders(ROOT)) {
    const manifest = `${folder}/package.json`;
    assert.deepEqual(
      globSync(`${folder}/**/*.ts`, { cwd: ROOT }).filter((file) => packageOf(file) !== folder),
      [],
    );
    const json = JSON.parse(readFileSync(join(ROOT, manifest), 'utf8'));
    assert.equal(json.private, true, manifest);
    assert.equal(json.name, `@hermes-fleet/${basename(folder)}`);
    if (folder.startsWith('libs/'))
      assert.ok(existsSync(join(ROOT, folder, 'src/index.ts')), `${folder} has no index`);
    const declared = new Set([
      ...Object.keys(json.dependencies ?? {}),
      ...Object.keys(json.optionalDependencies ?? {}),
    ]);
    for (const { file, specifier } of byPackage.get(folder) ?? []) {
      if (/^(\.|node:)/.test(specifier) || specifier.endsWith('/testing') || file.endsWith('.test.ts'))
        continue;
      const name = specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/');
      if (file.includes('/testing/') && name in devDependencies) continue;
      assert.ok(declared.has(name), `${file} imports ${name}, which ${manifest} does not declare`);
    }
  }
});
