import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

const STUB = join(import.meta.dirname, '../fleet');
const RECORD = `echo "$(printf '[%s]' "\${0##*/}" "$@") in $PWD for $FLEET_FOLDER" >>"$CALLS"`;
/** With OLD, it is too old. */
const NODE = `#!/bin/sh
case $1 in -e) exit \${OLD:-0} ;; esac
${RECORD}
`;
const NPM = `#!/bin/sh
${RECORD}
mkdir -p node_modules && echo >node_modules/.package-lock.json
`;

/** A checkout at a path with a space, and a PATH with these programs only. */
function checkout(t: TestContext, programs: Readonly<Record<string, string>>) {
  const dir = realpathSync(tempDir(t, { prefix: 'my fleet ' }));
  const put = (file: string, text: string): void => {
    mkdirSync(join(dir, file, '..'), { recursive: true });
    writeFileSync(join(dir, file), text, { mode: 0o755 });
  };
  copyFileSync(STUB, join(dir, 'fleet'));
  mkdirSync(join(dir, 'bin'));
  put('package-lock.json', '');
  put('else where/file', '');
  put('deploy/docker/without-node.sh', RECORD);
  for (const [name, text] of Object.entries(programs)) put(`bin/${name}`, text);
  for (const tool of ['sh', 'dirname', 'readlink', 'find', 'mkdir', 'rm', 'sleep']) {
    const { stdout } = spawnSync('which', [tool], { encoding: 'utf8' });
    symlinkSync(stdout.trim(), join(dir, 'bin', tool));
  }
  const calls = join(dir, 'calls');
  const env = { PATH: join(dir, 'bin'), CALLS: calls };
  const run = (words: readonly string[], more: NodeJS.ProcessEnv = {}, program = join(dir, 'fleet')) => {
    rmSync(calls, { force: true });
    const { status, stderr } = spawnSync(program, words, {
      cwd: join(dir, 'else where'),
      encoding: 'utf8',
      env: { ...env, ...more },
      timeout: 30_000,
    });
    const called = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
    return { status, stderr, called };
  };
  const install = (seconds: number): void => {
    put('node_modules/.package-lock.json', '');
    const now = Date.now() / 1000;
    utimesSync(join(dir, 'node_modules/.package-lock.json'), now, now + seconds);
  };
  const main = `${dir}/libs/cli/src/main.ts`;
  return {
    dir,
    put,
    env,
    run,
    install,
    program: (words: string) => `[node][${main}]${words} in ${dir}/else where for ${dir}`,
  };
}

test('./fleet runs the program with the pinned Node.js, in the folder of the caller, also through a link', (t) => {
  const { dir, put, run, install, program } = checkout(t, { npm: NPM, node: 'exit 9' });
  install(1);
  put('node_modules/.bin/node', NODE);
  assert.deepEqual(run(['send', 'two words', '']), {
    status: 0,
    stderr: '',
    called: [program('[send][two words][]')],
  });
  symlinkSync('../fleet', join(dir, 'bin/hermes'));
  assert.deepEqual(run(['ps'], {}, join(dir, 'bin/hermes')).called, [program('[ps]')]);
  assert.match(run(['ps'], { FLEET_FOLDER: '/mine' }).called[0] ?? '', / for \/mine$/);
});

test('./fleet installs the packages that the program needs, and nothing where the lockfile is installed', (t) => {
  const { dir, run, install, program } = checkout(t, { npm: NPM, node: NODE });
  const npm = `[npm][ci][--omit=dev][--no-audit][--no-fund][--loglevel=error] in ${dir} for ${dir}`;
  assert.deepEqual(run(['ps']).called, [npm, program('[ps]')]);
  assert.deepEqual(run(['ps']).called, [program('[ps]')]);
  install(-100);
  assert.deepEqual(run(['ps']).called, [npm, program('[ps]')]);
  const old = run(['ps'], { OLD: '1' });
  assert.deepEqual([old.status, old.called], [1, [npm]]);
  assert.equal(old.stderr, 'fleet: Node.js 24.15 or newer is needed: install it, then try again\n');
});

test('of two first calls of ./fleet, one installs and the other waits; an installation that was killed is named', async (t) => {
  const { dir, env, run } = checkout(t, { npm: NPM.replace('mkdir', 'sleep 1 && mkdir'), node: NODE });
  const first = [1, 2].map(() => spawn(join(dir, 'fleet'), ['ps'], { env, stdio: 'ignore' }));
  assert.deepEqual(await Promise.all(first.map((child) => once(child, 'exit'))), [
    [0, null],
    [0, null],
  ]);
  const called = readFileSync(env.CALLS, 'utf8').trim().split('\n');
  assert.deepEqual(called.map((line) => line.slice(0, 5)).toSorted(), ['[node', '[node', '[npm]']);
  const lock = join(dir, '.cache/npm-ci.lock');
  assert.ok(!existsSync(lock));
  rmSync(join(dir, 'node_modules'), { recursive: true });
  mkdirSync(lock);
  writeFileSync(join(lock, 'pid'), `${spawnSync('true').pid}\n`);
  const { status, stderr, called: none } = run(['ps']);
  assert.deepEqual([status, none], [1, []]);
  assert.match(stderr, /npm-ci\.lock is of an installation that was killed or does not end: remove it/);
});

test('after a change of the lockfile, ./fleet installs the packages for development only for up', (t) => {
  const { dir, put, run, install, program } = checkout(t, { npm: NPM, node: NODE });
  put('node_modules/.bin/tsc', '');
  install(-100);
  const note =
    'fleet: note: package-lock.json has changed since its packages were installed: make install installs them\n';
  assert.deepEqual(run(['ps']), { status: 0, stderr: note, called: [program('[ps]')] });
  const npm = `[npm][ci][--no-audit][--no-fund][--loglevel=error] in ${dir} for ${dir}`;
  assert.deepEqual(run(['up']).called, [npm, program('[up]')]);
});

test('./fleet runs the program in the image on a host with Docker and without npm and packages', (t) => {
  const hosts: Readonly<Record<string, string>>[] = [{ docker: '' }, { docker: '', node: NODE }];
  for (const programs of hosts) {
    const { dir, run } = checkout(t, programs);
    const called = [`[without-node.sh][ps][--json] in ${dir}/else where for ${dir}`];
    assert.deepEqual(run(['ps', '--json']), { status: 0, stderr: '', called });
  }
  const nothing = checkout(t, {}).run(['ps']);
  assert.deepEqual([nothing.status, nothing.called], [1, []]);
  assert.equal(nothing.stderr, 'fleet: npm is needed, or Docker with Compose: install one of them\n');
});
