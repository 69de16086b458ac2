import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

const script = join(import.meta.dirname, 'fleet.sh');
/** Runs a command of the fleet, and what may follow it on a command line. */
const run = (line: string, env: NodeJS.ProcessEnv, input = '') =>
  spawnSync('sh', ['-c', `sh '${script}' ${line}`], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    timeout: 30_000,
    input,
  });

/** A `docker` that is this shell script, and the environment in which a fleet in containers finds it. */
function stubDocker(t: TestContext, body: (dir: string) => string) {
  const dir = tempDir(t, { prefix: 'docker-' });
  writeFileSync(join(dir, 'docker'), `#!/bin/sh\n${body(dir)}\n`, { mode: 0o755 });
  return { dir, env: { FLEET_MODE: 'docker', PATH: `${dir}:${process.env.PATH}` } };
}

test('every command refuses an unknown mode', () => {
  for (const verb of ['up', 'down', 'logs', 'ps', 'token', 'demo', 'route', 'peers', 'trader', 'doctor']) {
    const { status, stderr } = run(verb, { FLEET_MODE: 'swarm' });
    assert.equal(status, 2, verb);
    assert.match(stderr, /FLEET_MODE must be docker or process, not "swarm"/);
  }
  assert.equal(run('fly', {}).status, 2);
});

test('FLEET_MODE=docker without an engine is an error, not a fallback to processes', (t) => {
  const { status, stdout, stderr } = run('up', stubDocker(t, () => 'exit 1').env);
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, 'FLEET_MODE=docker, but no Docker engine with Compose answers\n');
});

test('in containers, the token comes from the volume that only the keys job mounts, and stdin is left to the rest of a pipe', (t) => {
  const { dir, env } = stubDocker(t, (at) => `echo "$@" >>'${at}/calls'\ncat >/dev/null\necho a-token`);
  const { status, stdout } = run('token; cat', env, 'a body\n');
  assert.equal(status, 0);
  assert.equal(stdout, 'a-token\na body\n');
  assert.equal(readFileSync(join(dir, 'calls'), 'utf8'), 'compose run --rm --no-deps -T keys token\n');
});

test('in containers, the demo runs in a container and gets the token on stdin, never as an argument', (t) => {
  const { dir, env } = stubDocker(
    t,
    (at) => `echo "$@" >>'${at}/calls'
case "$*" in
  *' token') echo a-token ;;
  *' ps '*) [ -f '${at}/up' ] && echo 0123456789ab ;;
  *' port '*) echo 127.0.0.1:9999 ;;
  *' exec '*) cat >'${at}/stdin' ;;
esac`,
  );
  const down = run('demo', env);
  assert.equal(down.status, 1);
  assert.match(down.stderr, /no fleet runs: make up first/);

  writeFileSync(join(dir, 'up'), '');
  const { status, stderr } = run('demo', env);
  assert.equal(status, 0, stderr);
  assert.equal(readFileSync(join(dir, 'stdin'), 'utf8'), 'a-token\n');
  const calls = readFileSync(join(dir, 'calls'), 'utf8');
  assert.match(
    calls,
    /exec -T -u 1000 switch .* demo --token-stdin .*--address switch=http:\/\/127\.0\.0\.1:9999/,
  );
  assert.doesNotMatch(calls, /a-token/);
});

test('in containers, route, peers, context, trader and doctor run in a container, with the token and a file on stdin', (t) => {
  const { dir, env } = stubDocker(
    t,
    (at) => `for word; do printf '[%s]' "$word"; done >>'${at}/calls'
echo >>'${at}/calls'
case "$*" in
  *' token') echo a-token ;;
  *' ps '*) echo 0123456789ab ;;
  *' exec '*) cat >'${at}/stdin' ;;
esac`,
  );
  writeFileSync(join(dir, 'dispatch.json'), '{"brief": "x"}');
  const ask = (...args: string[]): { call: string; stdin: string } => {
    const { status, stderr } = spawnSync('sh', [script, ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
      input: '',
      timeout: 30_000,
    });
    assert.equal(status, 0, stderr);
    const calls = readFileSync(join(dir, 'calls'), 'utf8');
    assert.doesNotMatch(calls, /a-token/);
    return { call: calls.trim().split('\n').at(-1) ?? '', stdin: readFileSync(join(dir, 'stdin'), 'utf8') };
  };
  const options = ask('route', '--explain', '--mcp', 'filesystem', '--brief', 'two words');
  assert.match(
    options.call,
    /\[switch\].*\[route\]\[--explain\]\[--mcp\]\[filesystem\]\[--brief\]\[two words\]\[--token-stdin\]/,
  );
  assert.match(options.call, /\[--reach\]\[neo=http:\/\/neo:9220\]/);
  assert.equal(options.stdin, 'a-token\n');
  for (const given of [['--file', join(dir, 'dispatch.json')], [`--file=${join(dir, 'dispatch.json')}`]]) {
    const { call, stdin } = ask('route', ...given, '--json');
    assert.match(call, /\[route\]\[--file\]\[-\]\[--json\]/);
    assert.equal(stdin, 'a-token\n{"brief": "x"}');
  }
  assert.match(ask('trader', 'list').call, /\[trader\]\[fleet\]\[trader\]\[list\]\[--token-stdin\]/);
  const decided = ask('trader', 'decide', join(dir, 'dispatch.json'), '--json');
  assert.match(decided.call, /\[trader\]\[decide\]\[-\]\[--json\]\[--token-stdin\]\[--reach\]\[trader=http/);
  assert.equal(decided.stdin, 'a-token\n{"brief": "x"}');
  const described = ask('trader', 'decide', '--action', 'pause', '--reason', 'two words');
  assert.match(described.call, /\[decide\]\[--action\]\[pause\]\[--reason\]\[two words\]\[--token-stdin\]/);
  assert.match(
    ask('trader', 'audit', 'verify').call,
    /\[exec\]\[-T\]\[trader\].*\[trader\]\[audit\]\[verify\]\[--witness\]\[\]\[--as-is\]/,
  );
  assert.match(ask('trader', 'audit', 'accept').call, /\[audit\]\[accept\]\[--token-stdin\]/);
  assert.match(
    ask('context', 'delete', 'c-1', '--results', 'delete').call,
    /\[switch\].*\[context\]\[delete\]\[c-1\]\[--results\]\[delete\]\[--token-stdin\]/,
  );
  assert.match(ask('peers', '--profile', 'neo').call, /\[switch\].*\[peers\]\[--profile\]\[neo\]/);
  assert.match(ask('doctor', '--json').call, /\[switch\]\[fleet\]\[doctor\]\[--as-is\]\[--json\]/);
  for (const given of [['--profile', 'neo'], ['--profile=neo']])
    assert.match(ask('doctor', ...given).call, /\[-u\]\[1000\]\[neo\]\[fleet\].*\[--as-is\]\[--profile/);
});

const NODE = `#!/bin/sh
case "$*" in
  *' local up') [ -z "\${BROKEN:-}" ] || exit 1; mkdir -p .fleet/run; echo '{}' >.fleet/run/neo.json ;;
  *' local down') rm -f .fleet/run/neo.json ;;
  *' token') echo a-process-token ;;
esac
`;
const DOCKER = `#!/bin/sh
[ -f engine ] || exit 1
echo "$@" >>calls
case "$*" in
  *' token') echo a-container-token ;;
  *' ps '*nats) [ ! -f nats-runs ] || echo 0123456789ab ;;
esac
`;

/** A checkout at a path with a space, with stubs for Node and Docker. */
function checkout(t: TestContext) {
  const dir = tempDir(t, { prefix: 'my fleet ' });
  const put = (file: string, text = '', mode = 0o644): void => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), text, { mode });
  };
  put('package-lock.json');
  put('node_modules/.package-lock.json');
  put('node_modules/.bin/node', NODE, 0o755);
  put('bin/docker', DOCKER, 0o755);
  put('deploy/system-packages.sh', '#!/bin/sh\n', 0o755);
  for (const name of [
    'profiles/neo/fleet.yaml',
    'trader/trader.yaml',
    'console/console.yaml',
    'prometheus/prometheus.yml',
    'grafana/dashboard.json',
  ])
    put(join('deploy', name));
  copyFileSync(script, join(dir, 'deploy/fleet.sh'));
  put('deploy/docker/preflight.sh', readFileSync(join(dirname(script), 'docker/preflight.sh'), 'utf8'));
  const PATH = `${join(dir, 'bin')}:${process.env.PATH}`;
  const fleet = (verb: string, env: NodeJS.ProcessEnv = {}) =>
    spawnSync('sh', [join(dir, 'deploy/fleet.sh'), verb], {
      encoding: 'utf8',
      env: { ...process.env, FLEET_MODE: '', PATH, ...env },
      timeout: 30_000,
    });
  return { dir, put, fleet };
}

test('an up that starts no process does not set the mode', (t) => {
  const { put, fleet } = checkout(t);
  const failed = fleet('up', { BROKEN: 'yes' });
  assert.equal(failed.status, 1);
  assert.match(failed.stdout, /no Docker engine answers/);
  put('engine');
  const { status, stdout, stderr } = fleet('up');
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'starting the fleet in containers\n');
});

test('in containers, the audit is verified in a new container while the trader is down', (t) => {
  const { dir, env } = stubDocker(t, (at) => `echo "$@" >>'${at}/calls'`);
  const { status, stderr } = run('trader audit verify', env);
  assert.equal(status, 0, stderr);
  assert.match(
    readFileSync(join(dir, 'calls'), 'utf8'),
    /^compose run --rm --no-deps -T trader fleet trader audit verify --witness {2}--as-is$/m,
  );
});

test('up reloads a running NATS server after creating missing keys', (t) => {
  const { dir, put, fleet } = checkout(t);
  put('engine');
  assert.equal(fleet('up').status, 0);
  assert.doesNotMatch(readFileSync(join(dir, 'calls'), 'utf8'), /HUP/);
  put('nats-runs');
  assert.equal(fleet('up').status, 0);
  const calls = readFileSync(join(dir, 'calls'), 'utf8').split('\n');
  const made = calls.indexOf('compose run --build --rm --no-deps -T keys init');
  const told = calls.indexOf('compose kill --signal HUP nats');
  assert.ok(made > 0 && told === made + 1, calls.join('\n'));
  assert.ok(calls.findLastIndex((call) => call.startsWith('compose up --build')) > told);
});

test('a running fleet keeps its mode until down, and up refuses the other mode', (t) => {
  const { dir, put, fleet } = checkout(t);
  assert.equal(fleet('up').status, 0);
  put('engine');
  const again = fleet('up');
  assert.equal(again.stdout, 'starting the fleet as plain processes on this machine\n');
  assert.equal(fleet('token').stdout, 'a-process-token\n');

  const other = fleet('up', { FLEET_MODE: 'docker' });
  assert.equal(other.status, 1);
  assert.match(other.stderr, /up already, as FLEET_MODE=process: FLEET_MODE=process make down stops it/);
  assert.equal(fleet('down', { FLEET_MODE: 'docker' }).status, 0);
  assert.equal(fleet('token').stdout, 'a-process-token\n');

  assert.equal(fleet('down').status, 0);
  assert.equal(existsSync(join(dir, '.fleet/mode')), false);
  assert.equal(fleet('token').stdout, 'a-container-token\n');
});

test('down in containers ends also what only a plain docker compose up has started', (t) => {
  const { dir, put, fleet } = checkout(t);
  put('engine');
  put('bin/docker', DOCKER.replace('echo "$@"', 'echo "$COMPOSE_PROFILES: $@"'), 0o755);
  assert.equal(fleet('down').status, 0);
  assert.match(readFileSync(join(dir, 'calls'), 'utf8'), /^grafana,welcome,events: compose down$/m);
});

test('up makes the mounted files readable, whatever the umask of the checkout', (t) => {
  const { dir, put, fleet } = checkout(t);
  put('engine');
  put('deploy/profiles/neo/state/ledger.db', '', 0o600);
  chmodSync(join(dir, 'deploy/profiles/neo/fleet.yaml'), 0o600);
  chmodSync(join(dir, 'deploy/profiles/neo'), 0o700);
  assert.equal(fleet('up').status, 0);
  const mode = (file: string): number => statSync(join(dir, 'deploy/profiles/neo', file)).mode & 0o777;
  assert.equal(mode('.'), 0o755);
  assert.equal(mode('fleet.yaml'), 0o644);
  assert.equal(mode('state/ledger.db'), 0o600);
});

test('keys of model providers are read from .env.local, unless the environment has them', (t) => {
  const dir = tempDir(t, { prefix: 'keys-' });
  const [bin, deploy] = [join(dir, 'bin'), join(dir, 'deploy')];
  for (const each of [bin, deploy]) mkdirSync(each);
  copyFileSync(script, join(deploy, 'fleet.sh'));
  const print = 'printf "%s|" "$OPENAI_API_KEY" "$ANTHROPIC_API_KEY" "$MODEL_API_KEY" "$OPENROUTER_API_KEY"';
  writeFileSync(join(bin, 'docker'), `#!/bin/sh\n[ "$2" != ps ] || ${print}\n`, { mode: 0o755 });
  const read = (text: string): [string, string] => {
    writeFileSync(join(dir, '.env.local'), text);
    const { status, stdout, stderr } = spawnSync('sh', [join(deploy, 'fleet.sh'), 'ps'], {
      encoding: 'utf8',
      env: { PATH: `${bin}:${process.env.PATH}`, FLEET_MODE: 'docker', ANTHROPIC_API_KEY: 'own' },
      timeout: 30_000,
    });
    assert.equal(status, 0);
    return [stdout, stderr];
  };
  const plain = '# keys\n\nOPENAI_API_KEY=a:1=$(touch x);b\nANTHROPIC_API_KEY=file\nMODEL_API_KEY=last';
  assert.deepEqual(read(plain), ['a:1=$(touch x);b|own|last||', '']);
  assert.equal(existsSync(join(dir, 'x')), false, 'nothing in the file is run');
  const written = `export OPENAI_API_KEY="a # 'b'" # mine\r\n MODEL_API_KEY='c "d"'\r\nOPENROUTER_API_KEY = e\nOPENROUTER_API_KEY= e#f # g \r\n`;
  const refused = '.env.local:3: not understood, and left out: write NAME=value\n';
  assert.deepEqual(read(written), [`a # 'b'|own|c "d"|e#f|`, refused]);
  const [values, told] = read(
    "bad name=s3cret\ns3cret\n=s3cret\n1A=s3cret\nMODEL_API_KEY=\"s3cret\nOPENAI_API_KEY='s3cret'x\nOPENROUTER_API_KEY= # none",
  );
  assert.equal(values, '|own|||');
  assert.deepEqual(told.match(/(?<=^\.env\.local:)\d+/gm), ['1', '2', '3', '4', '5', '6']);
  assert.doesNotMatch(told, /s3cret/);
});
