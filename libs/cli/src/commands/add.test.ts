import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TESTED_PACKAGES } from '@hermes-fleet/installation';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet } from '../../testing/profile-stub.ts';

/** The packages of the registry, by name, each with its versions; the last one is the latest. */
type Registry = Readonly<Record<string, readonly string[]>>;

/** Serves packages, which leave a file behind if a script of theirs runs. Any other request is answered with 404. */
async function registry(t: TestContext, packages: Registry): Promise<string> {
  const tarballs = new Map<string, Buffer>();
  const server = createServer((request, reply) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const versions = packages[path];
    const tarball = tarballs.get(path);
    if (tarball) return void reply.end(tarball);
    if (versions === undefined) return void reply.writeHead(404).end('{}');
    const entries = versions.map((version) => [
      version,
      { name: path, version, dist: { tarball: `${url}/${path}-${version}.tgz` } },
    ]);
    reply.setHeader('content-type', 'application/json');
    const tags = { latest: versions.at(-1) };
    reply.end(JSON.stringify({ name: path, 'dist-tags': tags, versions: Object.fromEntries(entries) }));
  });
  const dir = tempDir(t);
  mkdirSync(join(dir, 'package'));
  for (const [name, versions] of Object.entries(packages))
    for (const version of versions) {
      const scripts = { postinstall: 'touch ../ran ../../ran' };
      const manifest = { name, version, license: 'MIT', main: 'index.js', scripts };
      writeFileSync(join(dir, 'package/package.json'), JSON.stringify(manifest));
      writeFileSync(join(dir, 'package/index.js'), 'module.exports = {};');
      tarballs.set(`${name}-${version}.tgz`, execFileSync('tar', ['-cz', 'package'], { cwd: dir }));
    }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = `http://127.0.0.1:${address.port}`;
  return url;
}

/** A fleet folder, and the variables with which `fleet add` finds it and the registry. */
async function folderWith(t: TestContext, packages: Registry) {
  const root = tempDir(t);
  writeFileSync(
    join(root, 'members.yaml'),
    'profiles: { switch: { port: 9219 } }\nconsole: { port: 9224 }\n',
  );
  const env = {
    HOME: root,
    FLEET_FOLDER: root,
    npm_config_registry: await registry(t, packages),
    npm_config_cache: tempDir(t),
  };
  return { folder: join(root, 'packages'), add: (...args: string[]) => fleet(['add', ...args], '', env) };
}

const GOOGLE = '@ai-sdk/google';
const tested = TESTED_PACKAGES[GOOGLE] ?? '';

test('packages are installed beside each other in the tested or the named release, and run nothing', async (t) => {
  const { folder, add } = await folderWith(t, { [GOOGLE]: [tested, '99.0.0'], other: ['1.0.0', '2.0.0'] });
  assert.match((await add()).stdout, /packages has no packages\n$/);
  await add(GOOGLE);
  const { code, stdout, stderr } = await add('other@1.0.0', '--json');
  assert.equal(code, 0, stderr);
  const packages = [
    { name: GOOGLE, version: tested, license: 'MIT' },
    { name: 'other', version: '1.0.0', license: 'MIT' },
  ];
  assert.deepEqual(JSON.parse(stdout), { folder, packages });
  assert.deepEqual(JSON.parse((await add('--json')).stdout), { folder, packages });
  assert.deepEqual(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies, {
    [GOOGLE]: tested,
    other: '1.0.0',
  });
  assert.deepEqual(readdirSync(folder).sort(), ['node_modules', 'package-lock.json', 'package.json']);
  assert.ok(!existsSync(join(dirname(folder), 'ran')) && !existsSync(join(folder, 'node_modules/ran')));
  assert.equal(statSync(join(folder, 'node_modules/other/index.js')).mode & 0o777, 0o644);
});

test('an installation that fails says what npm said, and changes nothing', async (t) => {
  const { folder, add } = await folderWith(t, { other: ['1.0.0'] });
  const { code, stderr } = await add('other', 'missing');
  assert.equal(code, 1);
  assert.match(stderr, /npm could not install it, and nothing was changed:\n.*404(.|\n)*missing/);
  assert.deepEqual(readdirSync(folder), []);
});

test('only names of packages are taken', async (t) => {
  const { folder, add } = await folderWith(t, {});
  for (const word of [
    '--prefix=/',
    '../x',
    './x',
    '@scope',
    'a b',
    'x@file:y',
    'x@1 || 2',
    'git+ssh://h/r',
    '',
  ])
    assert.match((await add('--', word)).stderr, /is not the name of an npm package/, word);
  assert.match((await add('--global')).stderr, /unknown option/i);
  assert.ok(!existsSync(folder));
});
