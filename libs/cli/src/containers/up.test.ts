import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fakeDocker } from '../../testing/fake-docker.ts';
import { folderAt } from '../folder/fleet-folder.ts';
import { startContainers, stopContainers } from './up.ts';

const DOCKER = `
case "$*" in
  *'ps --all'*) cat "$at/containers" 2>/dev/null || : ;;
  *'config --format json') exit 1 ;;
  'inspect '*) echo '[]' ;;
  *'config --services') echo nats; echo console; echo neo ;;
  *'--wait console') [ ! -f "$at/no-console" ] || { echo a step >&2; echo port 9224 is taken >&2; exit 1; } ;;
  *'--wait grafana') [ ! -f "$at/no-grafana" ] || { echo no image >&2; exit 1; } ;;
  *'--wait nats neo') [ ! -f "$at/slow" ] || { kill -INT $PPID; exec sleep 60; }; [ ! -f "$at/broken" ] || exit 1 ;;
  *' logs '*) echo the reason ;;
  *' down') echo "[$COMPOSE_PROFILES]" >>"$at/calls" ;;
esac`;

function fixture(t: TestContext) {
  const docker = fakeDocker(t, DOCKER);
  const root = tempDir(t, { prefix: 'my fleet ' });
  const put = (path: string, text = '', mode = 0o644): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
  };
  put(join(root, 'deploy/members.yaml'));
  put(join(root, 'deploy/profiles/neo/fleet.yaml'));
  put(
    join(root, 'deploy/members.yaml'),
    'profiles: { switch: { port: 1 }, neo: { port: 2 } }\nconsole: { port: 3 }\n',
  );
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const text = (stream: PassThrough): string => String(stream.read() ?? '');
  const { signal } = new AbortController();
  const options = { folder: folderAt(root), env: docker.env, stdout, stderr, withRestarts: true, signal };
  const calls = (): string[] =>
    docker.calls().map((line) => line.replace(`[--project-directory][${root}]`, ''));
  return {
    root,
    options,
    put: (name: string, content = '') => put(join(docker.at, name), content),
    putIn: (name: string, mode: number) => put(join(root, name), '', mode),
    calls,
    up: async () => ({ ok: await startContainers(options), stdout: text(stdout), stderr: text(stderr) }),
  };
}

test('up starts the console and Grafana last, and the fleet runs without them where they do not start', async (t) => {
  const { up, calls, put, root } = fixture(t);
  assert.deepEqual(await up(), { ok: true, stdout: 'starting the fleet in containers\n', stderr: '' });
  const [first, second] = calls().filter((call) => call.includes('[--wait]'));
  assert.equal(first, '[compose][up][--build][--detach][--wait][nats][neo]');
  assert.equal(second, '[compose][up][--detach][--wait][console]');
  assert.ok(existsSync(join(root, '.fleet/mode')));
  put('no-console');
  put('no-grafana');
  const without = await up();
  assert.equal(without.ok, true);
  assert.match(
    without.stdout,
    /^the fleet runs without the console: port 9224 is taken; docker compose logs console says more\nthe fleet runs without Grafana: no image$/m,
  );
});

test('up creates the keys of new services and reloads a running NATS server before it starts anything', async (t) => {
  const { up, calls, put } = fixture(t);
  await up();
  assert.ok(!calls().some((call) => call.includes('[HUP]')));
  put('containers', '{"ID":"1","Service":"nats","State":"running"}\n');
  await up();
  const made = calls().indexOf('[compose][run][--build][--rm][--no-deps][-T][keys]');
  assert.equal(calls()[made + 1], '[compose][kill][--signal][HUP][nats]');
  assert.ok(calls().findLastIndex((call) => call.includes('[up][--build]')) > made);
});

test('up that fails names the services that are not healthy, with the end of their logs', async (t) => {
  const { up, put } = fixture(t);
  put('broken');
  put(
    'containers',
    [
      '{"ID":"1","Service":"keys","State":"exited","ExitCode":0}',
      '{"ID":"2","Service":"neo","State":"running","Health":"unhealthy"}',
      '{"ID":"3","Service":"trader","State":"created"}',
    ].join('\n'),
  );
  const { ok, stderr } = await up();
  assert.equal(ok, false);
  assert.equal(
    stderr,
    'neo is running, unhealthy, exit code 0; the end of its log:\nthe reason\ntrader was not started\n' +
      'the fleet is not up, for the reason above; the other containers keep running: make down stops them\n',
  );
});

test('up that is stopped ends Docker, and reports no service as failed', async (t) => {
  const { options, put, calls } = fixture(t);
  put('slow');
  const stop = new AbortController();
  const interrupt = (): void => stop.abort(new Error('stopped'));
  process.once('SIGINT', interrupt);
  t.after(() => process.off('SIGINT', interrupt));
  await assert.rejects(startContainers({ ...options, signal: stop.signal }), /stopped/);
  assert.ok(!calls().some((call) => call.includes('[logs]')));
  assert.equal(options.stderr.read(), null);
});

test('up makes the mounted files readable, whatever the umask, and leaves state alone', async (t) => {
  const { up, putIn, root } = fixture(t);
  putIn('deploy/profiles/neo/state/ledger.db', 0o600);
  putIn('deploy/profiles/neo/config.yaml', 0o600);
  chmodSync(join(root, 'deploy/profiles/neo'), 0o700);
  assert.equal((await up()).ok, true);
  const mode = (file: string): number => statSync(join(root, 'deploy/profiles/neo', file)).mode & 0o777;
  assert.deepEqual([mode('.'), mode('config.yaml'), mode('state/ledger.db')], [0o755, 0o644, 0o600]);
});

test('without an engine, up is an error and no fallback to processes', async (t) => {
  const { options } = fixture(t);
  const env = { ...fakeDocker(t, 'exit 1').env, FLEET_MODE: 'docker' };
  await assert.rejects(
    startContainers({ ...options, env }),
    /^FleetError: FLEET_MODE=docker, but no Docker engine/,
  );
  await assert.rejects(
    startContainers({ ...options, env: { ...env, FLEET_MODE: '' } }),
    /start the engine, or FLEET_MODE=process make up$/,
  );
});

test('down ends also what only a plain docker compose up has started', async (t) => {
  const { options, calls } = fixture(t);
  assert.equal(await stopContainers(options), 0);
  assert.equal(calls().at(-1), '[grafana,welcome,events]');
});
