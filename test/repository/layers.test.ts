import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');

/** The layers of docs/architecture.md: a package imports only from layers below its own. */
const LAYERS: Readonly<Record<string, number>> = {
  'libs/protocol': 0,
  'libs/tls': 0,
  'libs/outbound': 1,
  'libs/events': 2,
  'libs/mcp': 2,
  'libs/paper': 2,
  'libs/prose': 2,
  'libs/service': 2,
  'libs/store': 2,
  'libs/tokens': 2,
  'libs/workspace': 2,
  'libs/agent': 3,
  'libs/fleet-config': 3,
  'libs/ledger': 3,
  'libs/mcp-server': 3,
  'libs/a2a': 4,
  'libs/claude-code': 4,
  'libs/peers': 5,
  'libs/tasks': 6,
  'libs/relay': 7,
  'libs/fleet': 8,
  'libs/cli': 9,
  'libs/member': 9,
  'services/console': 10,
  'services/profile': 10,
  'services/trader': 10,
};

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s*'([^']+)'/g;

const MAX_LINES = 300;

/**
 * The one test kit that packages below may use: tests of libs/tasks and libs/relay observe tasks in a whole gateway, which
 * only libs/fleet composes.
 */
const GATEWAY_KIT = '@hermes-fleet/fleet/testing';

interface Arrow {
  readonly file: string;
  readonly specifier: string;
}

function arrows(): Arrow[] {
  const found: Arrow[] = [];
  for (const file of globSync('{libs,services}/*/src/**/*.ts', { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const match of text.matchAll(IMPORT)) {
      const specifier = match[1] ?? match[2] ?? match[3];
      if (specifier) found.push({ file, specifier });
    }
  }
  return found;
}

const packageOf = (file: string): string => file.split('/').slice(0, 2).join('/');

/** The rule that an import breaks, or undefined. */
function fault({ file, specifier }: Arrow): string | undefined {
  const from = packageOf(file);
  const layer = LAYERS[from];
  if (layer === undefined)
    return `${from} has no layer: add it to the table in this test and in docs/architecture.md`;
  if (specifier.startsWith('.')) {
    const target = relative(ROOT, resolve(ROOT, dirname(file), specifier));
    if (target.startsWith(`${from}/`)) return undefined;
    return file.endsWith('.test.ts') && target.startsWith('test/support/')
      ? undefined
      : `${file} reaches into ${target}: import the package by its name`;
  }
  const match = /^@hermes-fleet\/([^/]+)(\/.*)?$/.exec(specifier);
  if (!match) return undefined;
  const target = `libs/${match[1]}`;
  const isTest = file.endsWith('.test.ts') || file.includes('/testing/');
  const testing = match[2] === '/testing' && isTest;
  if (match[2] && !testing && !isEntryOf(target, match[2]))
    return `${file} imports ${specifier}: only a package's index is public`;
  const below = LAYERS[target];
  if (below === undefined) return `${file} imports ${specifier}, which has no layer`;
  if (below >= layer && !(testing && specifier === GATEWAY_KIT))
    return `${file} (layer ${layer}) imports ${specifier} (layer ${below})`;
  return undefined;
}

test('every import runs down the layers, through a package index', () => {
  const all = arrows();
  assert.ok(all.length > 100, `only ${all.length} imports found: the search of this test is broken`);
  assert.deepEqual(all.map(fault).filter(Boolean), []);
});

/** A folder whose index the package offers by itself (`exports`), so that a program need not load the rest. */
function isEntryOf(target: string, path: string): boolean {
  const { exports } = JSON.parse(readFileSync(join(ROOT, target, 'package.json'), 'utf8'));
  return path !== '/testing' && exports[`.${path}`] === `./src${path}/index.ts`;
}

test('an import that runs up, sideways or into an inside is a fault', () => {
  const cases: Arrow[] = [
    { file: 'libs/protocol/src/x.ts', specifier: '@hermes-fleet/ledger' },
    { file: 'libs/mcp/src/x.ts', specifier: '@hermes-fleet/events' },
    { file: 'libs/agent/src/x.ts', specifier: '@hermes-fleet/fleet' },
    { file: 'libs/fleet/src/x.ts', specifier: '@hermes-fleet/ledger/src/outbox.ts' },
    { file: 'libs/fleet/src/x.ts', specifier: '../../ledger/src/outbox.ts' },
    { file: 'libs/peers/src/x.test.ts', specifier: '@hermes-fleet/relay/testing' },
    { file: 'libs/unknown/src/x.ts', specifier: 'zod' },
  ];
  for (const arrow of cases) assert.ok(fault(arrow), `${arrow.file} -> ${arrow.specifier} went unnoticed`);
  for (const specifier of ['@hermes-fleet/ledger', '@hermes-fleet/a2a/client'])
    assert.equal(fault({ file: 'libs/fleet/src/x.ts', specifier }), undefined);
});

/** A package's entry points gather what its folders offer, so that they are no part of the folders' order. */
const isEntryPoint = (file: string): boolean => /^[^/]+\/[^/]+\/src\/(index|main)\.ts$/.test(file);

/** The imports inside packages, from file to file or from folder to folder. Tests and test kits are left out. */
function inside(nameOf: (file: string) => string): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const { file, specifier } of arrows()) {
    if (!specifier.startsWith('.') || isEntryPoint(file)) continue;
    if (file.endsWith('.test.ts') || file.includes('/testing/')) continue;
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

test('no file is longer than 300 lines', () => {
  const long = globSync(['{libs,services,test,deploy,docs}/**/*.ts', 'services/**/*.{js,css}'], {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  })
    .map((file) => ({ file, lines: readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1 }))
    .filter(({ lines }) => lines > MAX_LINES);
  assert.deepEqual(long, []);
});

test('every package is on a layer, is private, and declares what it imports', () => {
  const byPackage = Map.groupBy(arrows(), ({ file }) => packageOf(file));
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const manifest of globSync('{libs,services}/*/package.json', { cwd: ROOT })) {
    const folder = packageOf(manifest);
    assert.ok(folder in LAYERS, `${folder} has no layer`);
    const json = JSON.parse(readFileSync(join(ROOT, manifest), 'utf8'));
    assert.equal(json.private, true, manifest);
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
