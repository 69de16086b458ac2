import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');

/** The floors of docs/architecture.md: a package imports only from floors below its own. */
const FLOORS: Readonly<Record<string, number>> = {
  'libs/protocol': 0,
  'libs/events': 1,
  'libs/mcp': 1,
  'libs/outbound': 1,
  'libs/paper': 1,
  'libs/prose': 1,
  'libs/service': 1,
  'libs/store': 1,
  'libs/tokens': 1,
  'libs/workspace': 1,
  'libs/agent': 2,
  'libs/fleet-config': 2,
  'libs/ledger': 2,
  'libs/a2a': 3,
  'libs/claude-code': 3,
  'libs/peers': 4,
  'libs/tasks': 5,
  'libs/relay': 6,
  'libs/fleet': 7,
  'libs/cli': 8,
  'libs/member': 8,
  'services/profile': 9,
  'services/trader': 9,
};

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s*'([^']+)'/g;

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

/** What an arrow does wrong, or undefined. */
function fault({ file, specifier }: Arrow): string | undefined {
  const from = packageOf(file);
  const floor = FLOORS[from];
  if (floor === undefined)
    return `${from} has no floor: add it to the table in this test and in docs/architecture.md`;
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
  if (match[2] && !testing) return `${file} imports ${specifier}: only a package's index is public`;
  const below = FLOORS[target];
  if (below === undefined) return `${file} imports ${specifier}, which has no floor`;
  if (below >= floor && !testing) return `${file} (floor ${floor}) imports ${specifier} (floor ${below})`;
  return undefined;
}

test('every import runs down the floors, through a package index', () => {
  const all = arrows();
  assert.ok(all.length > 100, `only ${all.length} imports found: the search of this test is broken`);
  assert.deepEqual(all.map(fault).filter(Boolean), []);
});

test('an import that runs up, sideways or into an inside is a fault', () => {
  const cases: Arrow[] = [
    { file: 'libs/protocol/src/x.ts', specifier: '@hermes-fleet/ledger' },
    { file: 'libs/mcp/src/x.ts', specifier: '@hermes-fleet/events' },
    { file: 'libs/agent/src/x.ts', specifier: '@hermes-fleet/fleet' },
    { file: 'libs/fleet/src/x.ts', specifier: '@hermes-fleet/ledger/src/outbox.ts' },
    { file: 'libs/fleet/src/x.ts', specifier: '../../ledger/src/outbox.ts' },
    { file: 'libs/unknown/src/x.ts', specifier: 'zod' },
  ];
  for (const arrow of cases) assert.ok(fault(arrow), `${arrow.file} -> ${arrow.specifier} went unnoticed`);
  assert.equal(fault({ file: 'libs/fleet/src/x.ts', specifier: '@hermes-fleet/ledger' }), undefined);
});

test('every package is on a floor, is private, and declares what it imports', () => {
  const byPackage = Map.groupBy(arrows(), ({ file }) => packageOf(file));
  for (const manifest of globSync('{libs,services}/*/package.json', { cwd: ROOT })) {
    const folder = packageOf(manifest);
    assert.ok(folder in FLOORS, `${folder} has no floor`);
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
      assert.ok(declared.has(name), `${file} imports ${name}, which ${manifest} does not declare`);
    }
  }
});
