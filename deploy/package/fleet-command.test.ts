import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

/** A package whose command needs a Node.js of version `node`, and the path of that command. */
function packageFor(t: TestContext, node: string): { readonly dir: string; readonly command: string } {
  const dir = join(tempDir(t), 'node_modules');
  const folder = join(dir, 'hermes-fleet');
  cpSync(join(import.meta.dirname, 'bin'), join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ engines: { node } }));
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist/fleet.js'), 'console.log("runs", process.argv.slice(2).join(" "))');
  return { dir, command: join(folder, 'bin/fleet.cjs') };
}

/** Installs a Node.js of another version, which is a shell script, beside the package. */
function installNode(dir: string, script: string): void {
  const bin = join(dir, `node-${process.platform}-${process.arch}/bin`);
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'node'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

async function run(command: string, ...args: string[]) {
  const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, error, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { out, error, code };
}

/** Ends a process that leads its group, and what it started. */
function endGroup(pid: number | undefined): void {
  assert.ok(pid, 'the command did not start');
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error && error.code === 'ESRCH', String(error));
  }
}

test('the command runs the program where Node.js is new enough', async (t) => {
  const { command } = packageFor(t, '>=24.15');
  assert.deepEqual(await run(command, 'send', 'a b'), { out: 'runs send a b\n', error: '', code: 0 });
});

test('compiled code is cached where only the user can write, or nowhere', async (t) => {
  const { command } = packageFor(t, '>=24.15');
  const home = tempDir(t);
  const start = async (env: NodeJS.ProcessEnv): Promise<void> => {
    const child = spawn(process.execPath, [command], { env, stdio: 'ignore' });
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  };
  const tmp = tempDir(t);
  await start({ HOME: home, TMPDIR: tmp });
  const cache = join(home, '.cache/hermes-fleet');
  assert.equal(statSync(cache).mode & 0o777, 0o700);
  assert.notDeepEqual(readdirSync(cache), []);
  await start({ HOME: home, NODE_COMPILE_CACHE: join(home, 'mine'), XDG_CACHE_HOME: join(home, 'x') });
  assert.ok(existsSync(join(home, 'mine')) && !existsSync(join(home, 'x')));
  const shared = join(home, 'shared/hermes-fleet');
  mkdirSync(shared, { recursive: true });
  chmodSync(shared, 0o777);
  await start({ HOME: home, TMPDIR: tmp, XDG_CACHE_HOME: join(home, 'shared') });
  await start({ HOME: '/proc/none', TMPDIR: tmp });
  assert.deepEqual([readdirSync(shared), readdirSync(tmp)], [[], []]);
});

test('an old Node.js says which one is needed and how to get it', async (t) => {
  const { command } = packageFor(t, '>=99.5');
  const { out, error, code } = await run(command, '--help');
  assert.equal(out, '');
  assert.match(
    error,
    /^fleet: Node\.js 99\.5 or newer is needed, and this is \d+\.\d+\.\d+: run npx --package node@99 .*\n$/,
  );
  assert.equal(code, 1);
});

test('an old Node.js uses the one that is installed beside the package, with its arguments and exit code', async (t) => {
  const { dir, command } = packageFor(t, '>=99.5');
  installNode(dir, 'shift; echo "new $*"; exit 3');
  assert.deepEqual(await run(command, 'send', 'a b'), { out: 'new send a b\n', error: '', code: 3 });
});

test('a signal reaches the Node.js that is installed beside the package, and its end is that of the command', async (t) => {
  const { dir, command } = packageFor(t, '>=99.5');
  installNode(dir, 'trap "echo stopped; exit 5" TERM; echo ready; while :; do sleep 0.05; done');
  const child = spawn(process.execPath, [command], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  t.after(() => endGroup(child.pid));
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
    if (out === 'ready\n') child.kill('SIGTERM');
  });
  const [code] = await once(child, 'close');
  assert.deepEqual([out, code], ['ready\nstopped\n', 5]);
});
