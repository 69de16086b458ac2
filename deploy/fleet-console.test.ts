import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

const DOCKER = `#!/bin/sh
echo "$@" >>calls
case "$*" in
  *' ps '*console) [ ! -f console-runs ] || echo 0123456789ab ;;
  *' config --services') echo nats; echo console; echo neo ;;
  *'--wait console') [ ! -f no-console ] || { echo port 9224 is taken >&2; exit 1; } ;;
  *'port console 9224') echo 127.0.0.1:9224 ;;
  *'exec -T console fleet console --as-is'*) [ ! -f no-console ] || exit 1; echo http://a-link ;;
esac
`;

/** A checkout with a stub for Docker. */
function checkout(t: TestContext) {
  const dir = tempDir(t);
  const put = (file: string, text = '', mode = 0o644): void => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), text, { mode });
  };
  put('bin/docker', DOCKER, 0o755);
  for (const name of ['profiles', 'trader', 'console', 'prometheus', 'grafana']) put(`deploy/${name}/file`);
  mkdirSync(join(dir, 'deploy/docker'));
  for (const file of ['fleet.sh', 'docker/preflight.sh'])
    copyFileSync(join(import.meta.dirname, file), join(dir, 'deploy', file));
  const env = { ...process.env, FLEET_MODE: 'docker', PATH: `${join(dir, 'bin')}:${process.env.PATH}` };
  const fleet = (...args: string[]) => {
    put('calls');
    const ran = spawnSync('sh', [join(dir, 'deploy/fleet.sh'), ...args], {
      encoding: 'utf8',
      env,
      timeout: 30_000,
    });
    return { ...ran, calls: readFileSync(join(dir, 'calls'), 'utf8') };
  };
  return { dir, put, fleet };
}

test('in containers, the console is started last, and its link is among the last lines', (t) => {
  const { fleet } = checkout(t);
  const { status, stdout, calls } = fleet('up');
  assert.equal(status, 0);
  assert.equal(stdout, 'starting the fleet in containers\n');
  assert.match(calls, /^compose up --build --detach --wait nats neo$/m);
  assert.match(calls, /^compose up --detach --wait console$/m);
  assert.match(calls, / first-flight .* --console http:\/\/a-link$/m);
});

test('in containers, the fleet runs without the console where that does not start', (t) => {
  const { put, fleet } = checkout(t);
  put('no-console');
  const { status, stdout, calls } = fleet('up');
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^the fleet runs without the console: port 9224 is taken; docker compose logs console says more$/m,
  );
  assert.match(calls, / first-flight /);
  assert.doesNotMatch(calls, /first-flight .* --console/);
});

test('in containers, fleet console runs in the container of the console, and nowhere else', (t) => {
  const { dir, put, fleet } = checkout(t);
  const away = fleet('console');
  assert.deepEqual([away.status, away.stdout], [1, '']);
  assert.match(away.stderr, /^no console runs: make up starts it/);
  put('console-runs');
  const { status, stdout, calls } = fleet('console');
  assert.deepEqual([status, stdout], [0, 'http://a-link\n']);
  assert.match(
    calls,
    /^compose exec -T console fleet console --as-is --address http:\/\/127\.0\.0\.1:9224$/m,
  );
  assert.match(fleet('console', 'rebuild', '--json').calls, / console --as-is .* rebuild --json$/m);
  rmSync(join(dir, 'console-runs'));
  assert.equal(fleet('console', 'rebuild').status, 1);
});
