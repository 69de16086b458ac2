import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

const root = join(import.meta.dirname, '..');

/** Prints its words, one per line, and the token that it would use. */
const RECORD = `for word; do printf '[%s]' "$word"; done >>"$CALLS"; echo " in $PWD, token \${FLEET_TOKEN:-none}" >>"$CALLS"`;
const DOCKER = `#!/bin/sh
${RECORD}
case "$*" in
  version*|'compose version'*) [ -z "\${NO_ENGINE:-}" ] || exit 1 ;;
  # As Compose does, it reads what it is given.
  *' token') cat >/dev/null; echo a-token ;;
  *' ps '*) echo 0123456789ab ;;
  *' port switch '*) echo 127.0.0.1:9999 ;;
esac
`;
const TOOLS = ['sh', 'cat', 'cd', 'dirname', 'readlink', 'find', 'mkdir', 'chmod', 'rm', 'env'];

/** A checkout at a path with a space, with stubs for Docker and, with `node`, for the pinned Node. */
function checkout(t: TestContext, { node }: { readonly node: boolean }) {
  const dir = tempDir(t, { prefix: 'my fleet ' });
  const put = (file: string, text: string): void => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), text, { mode: 0o755 });
  };
  for (const file of ['fleet', 'deploy/fleet.sh']) {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    copyFileSync(join(root, file), join(dir, file));
  }
  put('bin/docker', DOCKER);
  put('package-lock.json', '');
  if (node) {
    put('node_modules/.package-lock.json', '');
    put('node_modules/.bin/node', `#!/bin/sh\n${RECORD}\ncat >"$CALLS.input"\n`);
  }
  for (const tool of TOOLS) {
    const { stdout } = spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' });
    if (stdout.startsWith('/')) symlinkSync(stdout.trim(), join(dir, 'bin', tool));
  }
  const elsewhere = join(dir, 'else where');
  mkdirSync(elsewhere);
  const calls = join(dir, 'calls');
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): SpawnSyncReturns<string> =>
    spawnSync(join(dir, 'fleet'), args, {
      cwd: elsewhere,
      encoding: 'utf8',
      env: { PATH: join(dir, 'bin'), CALLS: calls, ...env },
      input,
      timeout: 30_000,
    });
  const last = (): string => readFileSync(calls, 'utf8').trim().split('\n').at(-1) ?? '';
  const lastInput = (): string => readFileSync(`${calls}.input`, 'utf8');
  return { dir, elsewhere, run, last, lastInput };
}

test('./fleet runs a command with the pinned Node, in the folder of the caller', (t) => {
  const { dir, elsewhere, run, last } = checkout(t, { node: true });
  const { status, stderr } = run(['send', 'two words', '--file', 'a.txt'], { FLEET_MODE: 'process' });
  assert.equal(status, 0, stderr);
  const main = join(dir, 'libs/cli/src/main.ts');
  assert.equal(last(), `[${main}][send][two words][--file][a.txt] in ${elsewhere}, token none`);
  assert.equal(run(['--help']).status, 0);
  assert.equal(last(), `[${main}][--help] in ${elsewhere}, token none`);
});

test('./fleet works by a symbolic link', (t) => {
  const { dir, run, last } = checkout(t, { node: true });
  symlinkSync(join(dir, 'fleet'), join(dir, 'bin/hermes'));
  const { status, stderr } = spawnSync('hermes', ['--version'], {
    encoding: 'utf8',
    env: { PATH: join(dir, 'bin'), CALLS: join(dir, 'calls') },
  });
  assert.equal(status, 0, stderr);
  assert.match(last(), /\[--version\]/);
  assert.equal(
    run(['up', '--help']).stdout,
    'usage: ./fleet up, as make up: docs/operations.md describes it\n',
  );
});

test('with containers and Node, a client command runs on the host, with the published addresses and the token', (t) => {
  const { dir, run, last, lastInput } = checkout(t, { node: true });
  const { status, stderr } = run(['tasks', '--', '-x'], { FLEET_MODE: 'docker' }, 'the brief');
  assert.equal(status, 0, stderr);
  assert.ok(
    last().startsWith(`[${join(dir, 'libs/cli/src/main.ts')}][tasks][--reach][switch=http://127.0.0.1:9999]`),
  );
  assert.match(last(), /\[--\]\[-x\] in .*, token a-token$/);
  assert.equal(lastInput(), 'the brief');
});

test('with Docker only, a client command runs in a container, with the token in its environment', (t) => {
  const { run, last } = checkout(t, { node: false });
  const { status, stderr } = run(['send', 'two words'], { FLEET_MODE: 'docker', NO_COLOR: '1' });
  assert.equal(status, 0, stderr);
  assert.match(
    last(),
    /^\[compose\]\[exec\]\[-T\]\[-e\]\[NO_COLOR\]\[-e\]\[FLEET_TOKEN\]\[-u\]\[1000\]\[switch\]\[fleet\]\[send\]\[--reach\]/,
  );
  assert.match(last(), /\[--reach\]\[trinity=http:\/\/trinity:9222\]\[two words\] in .*, token a-token$/);
  const file = run(['send', 'x', '--file=a'], { FLEET_MODE: 'docker' });
  assert.equal(file.status, 2);
  assert.match(file.stderr, /^fleet: --file reads a file of this machine, so it needs Node here/);
});

test('a command for another agent gets no token of the fleet, only the variable that it names', (t) => {
  const { run, last } = checkout(t, { node: false });
  const args = ['send', 'x', '--url', 'https://a.example', '--token-env', 'THEIRS'];
  const { status, stderr } = run(args, { FLEET_MODE: 'docker', THEIRS: 'secret' });
  assert.equal(status, 0, stderr);
  assert.match(
    last(),
    /^\[compose\]\[exec\]\[-T\]\[-e\]\[THEIRS\]\[-u\]\[1000\]\[switch\]\[fleet\]\[send\]\[x\].*token none$/,
  );
  assert.equal(run(['send', '--url', 'x', '--token-env', 'A;B'], { FLEET_MODE: 'docker' }).status, 2);
  const here = checkout(t, { node: true });
  assert.equal(here.run(args, { FLEET_MODE: 'docker' }).status, 0);
  assert.match(here.last(), /main\.ts\]\[send\]\[x\]\[--url\].*token none$/);
});

test('with Docker only, a command that needs no fleet uses the image', (t) => {
  const { run, last } = checkout(t, { node: false });
  assert.equal(run(['route', '--help'], { FLEET_MODE: 'docker' }).status, 0);
  assert.equal(run(['--help']).status, 0);
  assert.match(
    last(),
    /^\[compose\]\[run\]\[--rm\]\[--no-deps\]\[-T\]\[--entrypoint\]\[fleet\]\[keys\]\[--help\]/,
  );
});

test('with containers, mcp serves the named profile over stdio, on the host or in its container', (t) => {
  const onHost = checkout(t, { node: true });
  const served = onHost.run(['mcp'], { FLEET_MODE: 'docker' }, 'a request');
  assert.deepEqual([served.status, served.stdout], [0, ''], served.stderr);
  assert.match(
    onHost.last(),
    /\[mcp\]\[--url\]\[http:\/\/127\.0\.0\.1:9999\]\[--token-env\]\[FLEET_TOKEN\] in .*, token a-token$/,
  );
  assert.equal(onHost.lastInput(), 'a request');
  const inContainer = checkout(t, { node: false });
  assert.equal(inContainer.run(['mcp', '--profile', 'neo'], { FLEET_MODE: 'docker' }).status, 0);
  assert.match(
    inContainer.last(),
    /^\[compose\]\[exec\]\[-T\]\[-e\]\[FLEET_TOKEN\]\[-u\]\[1000\]\[neo\]\[fleet\]\[mcp\]\[--url\]\[http:\/\/127\.0\.0\.1:9220\]/,
  );
  const wrong = inContainer.run(['mcp', '--profile=ghost'], { FLEET_MODE: 'docker' });
  assert.deepEqual(
    [wrong.status, wrong.stderr],
    [2, 'fleet: there is no profile ghost, only switch, neo, morpheus, trinity\n'],
  );
});
