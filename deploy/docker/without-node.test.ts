import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { until } from '../../test/support/fleet.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCKER_TS = join(ROOT, 'libs/cli/src/containers/docker.ts');
/** Records each call by one write. Its `run` is a program of the test, on this machine and with the variables that the container would have. */
const DOCKER = `#!/bin/sh
line=$(printf '[%s]' "$@" | tr '\\n' '~')
printf '%s\\n' "$line" >>"$CALLS"
case "$1 $2" in
  'image inspect') [ -z "\${NO_IMAGE:-}" ] || exit 1 ;;
  'compose --env-file')
    case "$*" in
      *'config --images keys') echo hermes-fleet:local ;;
      *'ps --status running --quiet switch') [ -z "\${RUNS:-}" ] || echo 0123456789ab ;;
    esac
    ;;
  'run --rm')
    while [ "$1" != "$FLEET_IMAGE" ]; do
      case $1 in
        -e) shift; case $1 in *=*) export "$1" ;; esac ;;
        --cidfile) shift; echo an-id >"$1" ;;
      esac
      shift
    done
    shift
    exec "$NODE" "$PROGRAM" "$@"
    ;;
  'said on') printf 'out: %s %s\\n' "$3" "$ADDED"; echo err >&2; cat; exit 3 ;;
  'for ever') echo begun; exec sleep 600 ;;
esac
`;
const TOOLS = ['sh', 'cat', 'dirname', 'readlink', 'find', 'mktemp', 'id', 'rm', 'mv', 'env', 'sed'];
const MORE_TOOLS = ['grep', 'sleep', 'xargs', 'kill', 'tr', 'pwd'];

/** A checkout on a host without Node.js and npm; the image has the program. */
function hostWithoutNode(t: TestContext, program: string) {
  const dir: string = tempDir(t, {
    prefix: 'my fleet ',
    // The shell that answers a command ends a little later, after it has removed its folder.
    closeFirst: () => until(() => readdirSync(join(dir, 'tmp')).length === 0, 'the answering shell to end'),
  });
  for (const folder of ['bin', 'deploy/docker', 'else where/.git', 'else where/deep', 'tmp'])
    mkdirSync(join(dir, folder), { recursive: true });
  for (const file of ['deploy/docker/without-node.sh', '.env'])
    writeFileSync(join(dir, file), readFileSync(join(ROOT, file)), { mode: 0o755 });
  writeFileSync(join(dir, 'bin/docker'), DOCKER, { mode: 0o755 });
  for (const tool of [...TOOLS, ...MORE_TOOLS]) {
    const { stdout } = spawnSync('which', [tool], { encoding: 'utf8' });
    if (stdout) symlinkSync(stdout.trim(), join(dir, 'bin', tool));
  }
  const calls = join(dir, 'calls');
  writeFileSync(calls, '');
  writeFileSync(join(dir, 'program.ts'), program.replaceAll('DOCKER_TS', DOCKER_TS));
  const env = {
    PATH: join(dir, 'bin'),
    TMPDIR: join(dir, 'tmp'),
    HOME: join(dir, 'home'),
    FLEET_FOLDER: dir,
    CALLS: calls,
    NODE: process.execPath,
    PROGRAM: join(dir, 'program.ts'),
  };
  const start = (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    spawn('sh', [join(dir, 'deploy/docker/without-node.sh'), ...args], {
      cwd: join(dir, 'else where/deep'),
      env: { ...env, ...more },
    });
  const run = async (args: readonly string[], more: NodeJS.ProcessEnv = {}, input = '') => {
    const child = start(args, more);
    child.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code, stdout, stderr };
  };
  return { dir, start, run, calls: () => readFileSync(calls, 'utf8') };
}

test('without Node.js, the program runs in the image as its caller, with the checkout and the repository', async (t) => {
  const { dir, run, calls } = hostWithoutNode(t, 'console.log(process.argv.slice(2), process.cwd())');
  const { code, stdout, stderr } = await run(['send', 'two words'], { RUNS: '1', FLEET_TOKEN: 'secret' });
  assert.equal(code, 0, stderr);
  assert.equal(stdout, `[ 'send', 'two words' ] ${join(dir, 'else where/deep')}\n`);
  const called =
    calls()
      .split('\n')
      .find((line) => line.startsWith('[run]')) ?? '';
  for (const part of [
    `[--volume][${dir}/else where:${dir}/else where]`,
    `[--volume][${dir}:${dir}]`,
    `[--workdir][${dir}/else where/deep]`,
    `[--user][${process.getuid?.()}:${process.getgid?.()}]`,
    '[--network][container:0123456789ab]',
    '[-e][FLEET_TOKEN]',
    '[-i]',
    '[--entrypoint][fleet][hermes-fleet:local][send][two words]',
  ])
    assert.ok(called.includes(part), `${part} in ${called}`);
  assert.doesNotMatch(called, /secret|\[-e\]\[(PATH|HOME)\]/);
});

test('without Node.js, up builds the image first, and other commands where there is none, with the settings of the fleet', async (t) => {
  const { dir, run, calls } = hostWithoutNode(t, '');
  writeFileSync(join(dir, '.env.local'), '');
  await run(['ps']);
  assert.doesNotMatch(calls(), /\[build\]/);
  const files = `[--env-file][${dir}/.env][--env-file][${dir}/.env.local]`;
  await run(['up']);
  assert.ok(calls().includes(`[compose]${files}[build][--quiet][keys]\n`), calls());
  const { stderr } = await run(['ps'], { NO_IMAGE: '1' });
  assert.match(stderr, /^there is no Node.js here: building the image in which the command runs, once$/m);
  assert.ok(calls().includes(`[compose]${files}[build][keys]\n`), calls());
});

test('without Node.js, the program has the host run docker, with words, variables and input of any kind', async (t) => {
  const { dir, run } = hostWithoutNode(
    t,
    `import { docker, onHost } from 'DOCKER_TS';
    const env = { ...process.env, ADDED: "a 'b'\\n%s" };
    const args = ['said', 'on', 'two\\nlines \\\\n \\\\\\\\ "c" \\n'];
    const cwd = process.env.FLEET_FOLDER;
    const said = await docker(args, { output: 'text', env, cwd, input: 'an input' });
    console.log(JSON.stringify(said));
    const shown = await docker(args, { output: 'inherit', input: 'more' });
    console.log(shown);
    await docker(['said', 'on', 'x'], { output: { file: cwd + '/a file' } });
    console.log((await onHost(['pwd'], { output: 'text', cwd })).stdout);
    console.log((await docker(['for', 'ever'], { output: 'text', timeoutMs: 200 }).catch((error) => error)).message);`,
  );
  const { code, stdout, stderr } = await run([]);
  assert.equal(code, 0, stderr);
  const word = 'two\nlines \\n \\\\ "c" \n';
  const said = { code: 3, stdout: `out: ${word} a 'b'\n%s\nan input`, stderr: 'err\n' };
  const shown = `out: ${word} \nmore{ code: 3, stdout: '', stderr: '' }\n`;
  const late = 'docker for ever took more than 0.2 s';
  assert.equal(stdout, `${JSON.stringify(said)}\n${shown}${dir}\n\n${late}\n`);
  assert.equal(stderr, 'err\n');
  assert.equal(readFileSync(join(dir, 'a file'), 'utf8'), 'out: x \n');
});

test('without Node.js, exit code and signals are those of the program, and nothing of a command is left', async (t) => {
  const { dir, start, run, calls } = hostWithoutNode(
    t,
    `import { docker } from 'DOCKER_TS';
    import { atEndOnHost } from '${join(ROOT, 'libs/cli/src/containers/host-requests.ts')}';
    if (process.argv[2] === 'fail') process.exit(7);
    const requests = process.env.FLEET_DOCKER_REQUESTS;
    atEndOnHost(requests, '/', ['docker', 'not', 'done'])[Symbol.dispose]();
    atEndOnHost(requests, '/', ['docker', 'done', 'at the end']);
    await docker(['for', 'ever'], { output: 'inherit' });`,
  );
  assert.equal((await run(['fail'])).code, 7);
  const child = start(['follow']);
  const [begun] = await once(child.stdout, 'data');
  assert.equal(String(begun), 'begun\n');
  assert.ok(child.pid);
  child.kill('SIGKILL');
  await once(child, 'close');
  await until(() => readdirSync(join(dir, 'tmp')).length === 0, 'the shell to end');
  assert.match(calls(), /^\[done\]\[at the end\]\n\[rm\]\[--force\]\[an-id\]$/m);
  assert.doesNotMatch(calls(), /not/);
});
