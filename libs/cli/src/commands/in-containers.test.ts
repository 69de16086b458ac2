import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { program } from '@hermes-fleet/installation';
import { fakeDocker } from '../../testing/fake-docker.ts';
import { fleet, serveAnswers } from '../../testing/profile-stub.ts';

const UP = ['nats', 'switch', 'neo', 'trader', 'console'];

/** The `fleet` command beside a fleet in containers, whose profile `switch` is published at this port. */
function inContainers(t: TestContext, { services = UP, port = 9, token = 'a-token' } = {}) {
  const rows = services.map((Service) =>
    JSON.stringify({
      ...{ ID: Service, Service, State: 'running', Health: 'healthy', Status: 'Up 2 minutes (healthy)' },
      Publishers: Service === 'nats' ? null : [{ TargetPort: 9219, PublishedPort: port }],
    }),
  );
  const { env, calls } = fakeDocker(
    t,
    `case "$*" in
  *'ps --all'*) cat <<'END'
${rows.join('\n')}
END
  ;;
  *' config --format json') echo '{"name":"p","services":{},"volumes":{"keys-operator":{"name":"p_keys-operator"},"state-trader":{"name":"p_state-trader"},"state-neo":{"name":"p_state-neo"}}}' ;;
  *' events --follow') kill -$SIGNAL $PPID; exec sleep 60 ;;
  *'keys token') echo ${token} ;;
  *' logs '*) echo '{"task_id":"t-1","root_id":"t-1","time":"1","msg":"begun"}' ;;
  *'console --as-is --json'*) echo '{"url":"http://a-link","expires_at":"soon"}' ;;
  *'console heads'*) echo '{"heads":[]}' ;;
  *'nats refill --as-is --profile=neo --dry-run --json') echo '{"services":[{"profile":"neo","acknowledged":3,"missing":1,"published":0,"removed_tasks":0}]}' ;;
  *'nats refill'*) echo '{"error":{"code":"CAPACITY","message":"NATS is full","hint":null,"fields":[]}}'; exit 1 ;;
esac`,
  );
  const run = (line: string) =>
    fleet(line.split(' '), '', { FLEET_MODE: 'docker', FLEET_KEYS_DIR: undefined, PATH: env.PATH });
  const last = (): string =>
    (calls().at(-1) ?? '')
      .replace(/\[--project-directory\]\[[^\]]*\]/, '')
      .replace(/fleet-events-[-\da-f]+/, 'fleet-events-ID');
  return { run, last, calls, env };
}

test('a fleet in containers is asked at its published addresses, with the token of its volume', async (t) => {
  const asked: string[] = [];
  const body = { profile: 'switch', peers: [] };
  const url = await serveAnswers(t, { '/fleet/peers': { body } }, ({ token }) => asked.push(token));
  const { run } = inContainers(t, { port: Number(new URL(url).port) });
  assert.deepEqual(await run('peers'), { code: 0, stdout: 'switch knows no peer\n', stderr: '' });
  assert.deepEqual(asked, ['a-token']);
  assert.equal((await run('peers --profile ghost')).code, 2);
});

test('without a running container, a command says that no fleet runs, and makes no token', async (t) => {
  const { run, calls } = inContainers(t, { services: [] });
  for (const line of ['peers', 'doctor', 'events', 'console', 'demo', 'send x']) {
    const { code, stderr } = await run(line);
    assert.equal(code, 1, line);
    assert.match(stderr, /^fleet: no fleet runs in .*\nhint: make ps shows/, line);
  }
  assert.ok(!calls().some((call) => call.includes('[run]')));
});

test('commands that need the keys or the network of a container run there, with their options', async (t) => {
  const { run, last } = inContainers(t);
  for (const [line, call] of [
    [
      'doctor --profile neo --call --json',
      '[exec][-T][-u][1000][neo][fleet][doctor][--as-is][--profile=neo][--call][--json]',
    ],
    [
      'events --follow --task t-1',
      '[run][--rm][--no-deps][-T][--name][fleet-events-ID][events][--follow][--task=t-1]',
    ],
    ['console rebuild --json', '[exec][-T][-u][1000][console][fleet][console][rebuild][--as-is][--json]'],
    ['console heads --no-open', '[exec][-T][-u][1000][console][fleet][console][heads][--as-is][--no-open]'],
    [
      'trader audit show --limit 5',
      '[exec][-T][-u][1000][trader][fleet][trader][audit][show][--as-is][--limit=5]',
    ],
    [
      'nats forget-head trader',
      '[run][--rm][--no-deps][-T][--entrypoint][fleet][nats-setup][nats][forget-head][--as-is][trader]',
    ],
    ['logs', '[logs][--follow][--tail][100]'],
    ['logs neo --tail 5', '[logs][--tail][5][neo]'],
  ] as const) {
    assert.equal((await run(line)).code, 0, line);
    assert.equal(last(), `[compose]${call}`, line);
  }
});

test('events ends by a signal that it gets, and removes its container', async (t) => {
  const { calls, env } = inContainers(t);
  const args = [program('fleet'), 'events', '--follow'];
  const child = spawn(process.execPath, args, {
    stdio: 'ignore',
    env: { ...env, FLEET_MODE: 'docker', FLEET_KEYS_DIR: undefined, SIGNAL: 'HUP' },
  });
  assert.deepEqual(await once(child, 'exit'), [null, 'SIGHUP']);
  const [run = '', removed] = calls().slice(-2);
  assert.equal(removed, `[rm][--force][${/fleet-events-[-\da-f]+/.exec(run)?.[0]}]`);
});

test('token, console, ps and the logs of a task of a fleet in containers print what they do for processes', async (t) => {
  const { run } = inContainers(t);
  assert.deepEqual(await run('token'), { code: 0, stdout: 'a-token\n', stderr: '' });
  assert.equal((await run('console')).stdout, 'http://a-link\n');
  assert.match((await run('logs t-1')).stdout, /^1 .*t-1 {2}begun/);
  const { stdout } = await run('ps --json');
  const rows = JSON.parse(stdout);
  const row = (name: string) => rows.find((each: { name: string }) => each.name === name);
  const fields = { pid: null, log_file: null };
  assert.deepEqual(row('neo'), {
    name: 'neo',
    state: 'ready',
    url: 'http://127.0.0.1:9',
    detail: null,
    ...fields,
  });
  assert.deepEqual(row('trinity'), { name: 'trinity', state: 'down', url: null, detail: null, ...fields });
});

test('the audit of containers is verified with what the console has seen, and the volume is named', async (t) => {
  const { run, last } = inContainers(t);
  const { code, stderr } = await run('trader audit verify');
  assert.deepEqual([code, stderr], [0, 'the audit is read from the volume p_state-trader\n']);
  assert.equal(
    last(),
    '[compose][exec][-T][-u][1000][trader][fleet][trader][audit][verify][--as-is][--witness={"heads":[]}]',
  );
});

test('nats refill has one document for the services of all containers, with why one could not be refilled', async (t) => {
  const { run, last } = inContainers(t);
  const { code, stdout } = await run('nats refill --profile neo --dry-run --json');
  const neo = { profile: 'neo', acknowledged: 3, missing: 1, published: 0, removed_tasks: 0 };
  assert.deepEqual([code, JSON.parse(stdout)], [0, { services: [neo] }]);
  assert.match(last(), /\[exec\]\[-T\]\[-u\]\[1000\]\[neo\]\[fleet\]\[nats\]\[refill\]/);
  const failed = await run('nats refill --profile trader -o json');
  const trader = { profile: 'trader', problem: 'NATS is full' };
  assert.deepEqual([failed.code, JSON.parse(failed.stdout)], [1, { services: [trader] }]);
});
