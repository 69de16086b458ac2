import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const docker = (args: readonly string[], timeout = 60_000) =>
  spawnSync('docker', args, { cwd: root, encoding: 'utf8', timeout });
const skip = docker(['version']).status === 0 ? false : 'no Docker engine answers';
const image = 'hermes-fleet:confinement-test';

/** A gateway runs the agent's commands as another user without capabilities (SECURITY.md). */
const AS_RUNNER = [
  '--reuid',
  '1001',
  '--regid',
  '1001',
  '--clear-groups',
  '--inh-caps=-all',
  '--ambient-caps=-all',
];

/** Attempts of the command; the test prints which of them succeed. */
const ATTEMPTS = {
  'list the keys': 'ls /run/keys',
  'read a key': 'cat /run/keys/token',
  'list the state': 'ls /state',
  'read the ledger': 'cat /state/ledger',
  "read the gateway's environment": 'cat /proc/$GATEWAY/environ',
  "read the first process's environment": 'cat /proc/1/environ',
  "read the gateway's memory": 'head -c1 /proc/$GATEWAY/mem',
  "list the gateway's files": 'ls /proc/$GATEWAY/fd',
  'signal the gateway': 'kill -0 $GATEWAY',
  'become the gateway': 'setpriv --reuid 1000 true',
  'become root': 'setpriv --reuid 0 true',
  'write beside the contexts': 'touch /workspace/x',
  'work in a shared folder': 'touch /workspace/mcp/x && rm /workspace/mcp/x',
};

const GATEWAY = `
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
writeFileSync('/state/ledger', 'tasks', { mode: 0o644 });
const capabilities = readFileSync('/proc/self/status', 'utf8').match(/CapEff:\\s+(\\w+)/)[1];
const run = (script) => spawnSync('setpriv', [...${JSON.stringify(AS_RUNNER)}, 'sh', '-c', script],
  { encoding: 'utf8', env: { PATH: process.env.PATH, GATEWAY: String(process.pid) } });
const attempts = Object.entries(${JSON.stringify(ATTEMPTS)}).map(([what, script]) => [what, run(script).status === 0]);
console.log(JSON.stringify({
  gateway: { uid: process.getuid(), groups: process.getgroups(), capabilities, token: readFileSync('/run/keys/token', 'utf8') },
  command: run('id -u; id -G; grep CapEff /proc/self/status').stdout.trim().split(/\\s+/),
  attempts: Object.fromEntries(attempts),
}));
`;

test('in the container, a command cannot reach the gateway', { skip }, (t) => {
  const volume = `confinement-${randomUUID()}`;
  t.after(() => {
    docker(['volume', 'rm', '--force', volume]);
    docker(['image', 'rm', image]);
  });
  const base = process.env.NODE_IMAGE ? ['--build-arg', `BASE_IMAGE=${process.env.NODE_IMAGE}`] : [];
  const built = docker(
    ['build', '--file', 'deploy/docker/Dockerfile', ...base, '--tag', image, '.'],
    280_000,
  );
  assert.equal(built.status, 0, built.stderr);
  const keys = ['run', '--rm', '--user', '1000:1000', '--volume', `${volume}:/run/keys`, image];
  const made = docker([...keys, 'sh', '-c', 'umask 277 && printf secret >/run/keys/token']);
  assert.equal(made.status, 0, made.stderr);

  const hardened = ['--init', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true'];
  const rights = ['SETUID', 'SETGID', 'KILL'].flatMap((capability) => ['--cap-add', capability]);
  const mounts = ['--volume', `${volume}:/run/keys:ro`, '--volume', '/state', '--volume', '/workspace'];
  const command = ['node', '--input-type=module', '-e', GATEWAY];
  const ran = docker([
    'run',
    '--rm',
    '--network',
    'none',
    ...hardened,
    ...rights,
    ...mounts,
    image,
    ...command,
  ]);
  assert.equal(ran.status, 0, ran.stderr);
  const { gateway, command: seen, attempts } = JSON.parse(ran.stdout);
  assert.deepEqual(gateway, {
    uid: 1000,
    groups: [1000, 1001],
    capabilities: '00000000000000e0',
    token: 'secret',
  });
  assert.deepEqual(seen, ['1001', '1001', 'CapEff:', '0000000000000000']);
  const expected = Object.keys(ATTEMPTS).map((what) => [what, what === 'work in a shared folder']);
  assert.deepEqual(attempts, Object.fromEntries(expected));
});
