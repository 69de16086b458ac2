import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { ASSETS, folder, PROGRAMS } from '@hermes-fleet/installation';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { buildPackage } from './build.ts';

const ROOT = folder();
const REVISION = '0123456789abcdef0123456789abcdef01234567';
const out = join(tempDir({ after }), 'package');
before(() => buildPackage(ROOT, out, { revision: REVISION }));

const files = (): string[] =>
  globSync('**', { cwd: out }).filter((path) => statSync(join(out, path)).isFile());
const read = (path: string): string => readFileSync(join(out, path), 'utf8');

test('the package has every program and asset, no sources, and no dependencies', () => {
  const all = files();
  for (const name of Object.keys(PROGRAMS)) assert.ok(all.includes(`dist/${name}.js`), name);
  for (const name of Object.keys(ASSETS))
    assert.ok(
      all.some((path) => path.startsWith(`assets/${name}`)),
      name,
    );
  assert.deepEqual(
    all.filter((path) => /\.ts$|\.test\./.test(path)),
    [],
  );
  const manifest: unknown = JSON.parse(read('package.json'));
  assert.partialDeepStrictEqual(manifest, {
    name: 'hermes-fleet',
    gitHead: REVISION,
    bin: { fleet: 'bin/fleet.cjs' },
  });
  assert.deepEqual(
    Object.keys(Object(manifest)).filter((key) => /dependencies/i.test(key)),
    [],
  );
});

test('no file names the checkout that it was built from', () => {
  assert.deepEqual(
    files().filter((path) => read(path).includes(ROOT) || read(path).includes(out)),
    [],
  );
});

test('the programs require only modules of Node.js, and import by a variable only the optional packages', () => {
  const code = files()
    .filter((path) => path.startsWith('dist/'))
    .map((path) => read(path).replace(/^\s*\*.*$/gm, ''));
  const required = code.flatMap((text) =>
    [...text.matchAll(/\brequire\d*\(\s*["']([^"']+)["']\s*\)/g)].map(([, name = '']) => name),
  );
  // Both write modules as text, with these names in it, for who asks for a file; nothing here does.
  const written = /^(ajv|ajv-formats|fast-json-stringify)\//;
  assert.deepEqual(
    required.filter((name) => !isBuiltin(name) && !written.test(name)),
    [],
  );
  const imports = code.flatMap((text) =>
    [...text.matchAll(/\bimport\((?!["'])([^)]*)/g)].map(([, name]) => name),
  );
  assert.deepEqual(imports, ['pathToFileURL(entry', 'pathToFileURL(entry']);
});

test('the notices and the bill of materials name each package that the bundles contain', () => {
  const bill: { components: { name: string; version: string }[] } = JSON.parse(read('sbom.cdx.json'));
  const named = bill.components.map(({ name, version }) => `${name} ${version}`);
  const noticed = [...read('THIRD-PARTY-NOTICES').matchAll(/^-{80}\n(\S+ \S+) \(/gm)].map(([, name]) => name);
  assert.deepEqual(noticed, named);
  for (const name of ['fastify', 'pino', 'preact', 'gpt-tokenizer', '@modelcontextprotocol/server-memory'])
    assert.ok(
      named.some((each) => each.startsWith(`${name} `)),
      name,
    );
  // The package has none of the tools that build it.
  assert.ok(!named.some((each) => each.startsWith('rolldown ')));
});

/** Runs a program of the package, and returns the files of the package that it loads. */
function loadedBy(file: string, ...args: string[]): string[] {
  const hook = join(out, '../hook.mjs');
  const report = join(out, '../loaded');
  writeFileSync(
    hook,
    `import { appendFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) { appendFileSync(process.env.REPORT, url + '\\n'); return next(url, context); } });`,
  );
  writeFileSync(report, '');
  const env = { PATH: process.env.PATH, REPORT: report, NODE_DISABLE_COMPILE_CACHE: '1' };
  spawnSync(process.execPath, ['--import', hook, join(out, file), ...args], { env, cwd: out });
  return readFileSync(report, 'utf8')
    .split('\n')
    .filter((url) => url.includes('/dist/'))
    .map((url) => basename(url));
}

// A module that is loaded at every start, and need not be, exceeds one of these bounds.
const assertSmall = (loaded: readonly string[], files: number, kilobytes: number): void => {
  const bytes = loaded.reduce((sum, name) => sum + statSync(join(out, 'dist', name)).size, 0);
  assert.ok(loaded.length <= files && bytes <= kilobytes * 1_000, `${bytes} bytes: ${loaded.join()}`);
};

test('help of the command loads few modules', () => {
  const loaded = loadedBy('bin/fleet.cjs', '--help');
  assert.ok(loaded.includes('fleet.js'));
  assertSmall(loaded, 20, 200);
});

test('a profile loads the modules of its start, and none that it needs later', () => {
  const loaded = loadedBy('dist/profile.js', '--no-such-option');
  assert.ok(loaded.includes('profile.js'));
  assertSmall(loaded, 50, 8_000);
  assert.deepEqual(
    loaded.filter((name) => /^(o200k_base|otlp-tracing)-/.test(name)),
    [],
  );
});
