import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const script = join(import.meta.dirname, 'fleet.sh');
const run = (verb: string, env: NodeJS.ProcessEnv) =>
  spawnSync('sh', [script, verb], { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 30_000 });

test('a mode that does not exist is refused by every command', () => {
  for (const verb of ['up', 'down', 'logs', 'ps', 'token', 'demo']) {
    const { status, stderr } = run(verb, { FLEET_MODE: 'swarm' });
    assert.equal(status, 2, verb);
    assert.match(stderr, /FLEET_MODE must be docker or process, not "swarm"/);
  }
  assert.equal(run('fly', {}).status, 2);
});

test('containers that are asked for by name and cannot be had are an error, not something else', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'docker-'));
  t.after(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, 'docker'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const { status, stdout, stderr } = run('up', { FLEET_MODE: 'docker', PATH: `${dir}:${process.env.PATH}` });
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, 'FLEET_MODE=docker, and no Docker engine with Compose answers\n');
});

test('in containers the token comes from the volume that only the keys job mounts', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'docker-'));
  t.after(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, 'docker'), `#!/bin/sh\necho "$@" >>'${dir}/calls'\necho a-token\n`, {
    mode: 0o755,
  });
  const { status, stdout } = run('token', { FLEET_MODE: 'docker', PATH: `${dir}:${process.env.PATH}` });
  assert.equal(status, 0);
  assert.equal(stdout, 'a-token\n');
  assert.equal(readFileSync(join(dir, 'calls'), 'utf8'), 'compose run --rm --no-deps -T keys token\n');
});

test('in containers the demo runs inside one, and gets the token by stdin, never as an argument', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'docker-'));
  t.after(() => rmSync(dir, { recursive: true }));
  writeFileSync(
    join(dir, 'docker'),
    `#!/bin/sh
echo "$@" >>'${dir}/calls'
case "$*" in
  *' token') echo a-token ;;
  *' ps '*) [ -f '${dir}/up' ] && echo 0123456789ab ;;
  *' port '*) echo 127.0.0.1:9999 ;;
  *' exec '*) cat >'${dir}/stdin' ;;
esac
`,
    { mode: 0o755 },
  );
  const env = { FLEET_MODE: 'docker', PATH: `${dir}:${process.env.PATH}` };
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
