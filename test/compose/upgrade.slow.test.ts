import assert from 'node:assert/strict';
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { freshen, tasksIn, withLedger } from '../fixtures/ledgers.ts';
import { fixture, RELEASES, unpackDatabase, unpackWorkspace } from '../fixtures/pack.ts';
import { composeProject } from '../support/compose.ts';
import { withoutEngine } from '../support/engine.ts';
import { ROOT, runProgram } from '../support/fleet.ts';
import { resultWhenEnded } from '../support/sent-tasks.ts';

const NOT_COMMITTED = new Set(['node_modules', '.git', '.fleet', '.cache']);
const WORKERS = ['neo', 'morpheus', 'trinity'];
const SERVICES = [...WORKERS, 'trader', 'switch', 'console'];

/** A checkout in containers whose volumes have the state of a release, and whose configuration is that of the release. */
async function olderFleet(t: TestContext, release: string) {
  const { env } = composeProject(t, { FLEET_MODE: 'docker', GRAFANA_IMAGE: 'localhost:1/none:0' });
  const dir = tempDir(t);
  const root = join(dir, 'checkout');
  cpSync(ROOT, root, { recursive: true, filter: (file) => !NOT_COMMITTED.has(basename(file)) });
  cpSync(fixture(release, 'configuration/shipped'), join(root, 'deploy'), { recursive: true });
  const fleet = (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    runProgram(process.execPath, [join(ROOT, 'libs/cli/src/main.ts'), ...args], {
      env: { ...env, FLEET_FOLDER: root, ...more },
      cwd: root,
      timeoutMs: 400_000,
    });
  const docker = async (args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runProgram('docker', args, { cwd: root, env, timeoutMs: 300_000 });
    assert.equal(code, 0, `docker ${args.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  };
  const run = (...args: string[]): Promise<string> =>
    docker(['compose', 'run', '--rm', '--no-deps', '-T', ...args]);

  const state = join(dir, 'older');
  for (const name of ['switch', 'neo', 'trinity']) {
    mkdirSync(join(state, 'state', name), { recursive: true });
    unpackDatabase(fixture(release, `${name}.ledger.db.gz`), join(state, 'state', name, 'ledger.db'));
    freshen(join(state, 'state', name, 'ledger.db'));
    if (name === 'switch') continue;
    await unpackWorkspace(fixture(release, `${name}.workspace.tar.gz`), join(state, 'workspaces', name));
  }
  // The console's database of the fixtures has seen the audit of another trader.
  mkdirSync(join(state, 'state/trader'));
  unpackDatabase(fixture(release, 'control.db.gz'), join(state, 'state/trader/control.db'));
  await docker(['compose', 'build', '--quiet']);
  // The release made no file with its version.
  await run('keys');
  const fill =
    'rm /fleet/keys/operator/version; cp -r /older/* /fleet; chown -R 1000:1000 /fleet/state/* /fleet/workspaces/*';
  await run('--volume', `${state}:/older:ro`, '--entrypoint', 'sh', 'backup', '-c', fill);
  /** The start of each container, by its service. */
  const starts = async (): Promise<ReadonlyMap<string, string>> => {
    const ids = (await docker(['compose', 'ps', '--quiet', ...SERVICES])).trim().split('\n');
    const format = '{{index .Config.Labels "com.docker.compose.service"}} {{.State.StartedAt}}';
    const lines = (await docker(['inspect', '--format', format, ...ids])).trim().split('\n');
    return new Map(
      lines.map((line): [string, string] => {
        const [service = '', at = ''] = line.split(' ');
        return [service, at];
      }),
    );
  };
  return { root, env, fleet, docker, run, starts };
}

const restarted = (stdout: string): string[] =>
  [...stdout.matchAll(/^(\w+) is restarted: (.*)$/gm)].map(([, name, change]) => `${name}: ${change}`);

for (const release of RELEASES)
  test(`a fleet of ${release} in containers goes on under this version, which then restarts what changes`, {
    skip: withoutEngine(),
    timeout: 1_800_000,
  }, async (t) => {
    const { root, env, fleet, docker, run, starts } = await olderFleet(t, release);
    const token = () => run('keys', 'token');
    const key = await token();
    const up = async (args: readonly string[] = [], more: NodeJS.ProcessEnv = {}) => {
      const { code, stdout, stderr } = await fleet(['up', ...args], more);
      assert.equal(code, 0, stdout + stderr);
      return { stdout, stderr, starts: await starts() };
    };

    const first = await up();
    assert.deepEqual(restarted(first.stdout), []);
    assert.match(
      first.stderr,
      /note: .+\/neo\/config\.yaml:8: since 0\.2\.0, the shipped MCP servers have names/,
    );

    await t.test('its tasks, results, keys and audit are there', async () => {
      assert.equal(await token(), key);
      const copy = join(tempDir(t), 'switch.db');
      unpackDatabase(fixture(release, 'switch.ledger.db.gz'), copy);
      const done = await withLedger(copy, 'switch', (ledger) =>
        [...tasksIn(ledger).values()].find((task) => task.key === 'relayed-done'),
      );
      const url = `http://${(await docker(['compose', 'port', 'switch', '9219'])).trim()}`;
      const result = await resultWhenEnded({ url, token: key.trim() }, done?.id ?? '');
      assert.equal(result.status, 'done');
      assert.deepEqual(result.artifacts.files_changed, ['chairs.txt']);
      const audit = await fleet(['trader', 'audit', 'verify']);
      assert.equal(audit.code, 0, audit.stdout + audit.stderr);
    });

    await t.test('up leaves alone what has not changed', async () => {
      const again = await up();
      assert.deepEqual(restarted(again.stdout), []);
      assert.deepEqual(again.starts, first.starts);
    });

    await t.test('up restarts a service whose configuration has changed, and no other', async () => {
      appendFileSync(join(root, 'deploy/profiles/neo/IDENTITY.md'), '\nChanged.\n');
      const left = await up(['--no-restart']);
      assert.match(left.stdout, /^neo runs on, although its configuration changed$/m);
      assert.deepEqual(left.starts, first.starts);
      const { stdout, starts } = await up();
      assert.deepEqual(restarted(stdout), ['neo: its configuration changed']);
      const other = [...starts].filter(([name, at]) => at !== first.starts.get(name)).map(([name]) => name);
      assert.deepEqual(other, ['neo']);
    });

    await t.test('a new image restarts one service after the other, workers before switch', async () => {
      const { stdout, starts } = await up([], { FLEET_REVISION: 'another' });
      const order = restarted(stdout).map((line) => line.replace(': the image changed', ''));
      assert.deepEqual(order.toSorted(), SERVICES.toSorted());
      assert.deepEqual(order.slice(-2), ['switch', 'console']);
      const byStart = [...starts].toSorted(([, a], [, b]) => (a < b ? -1 : 1)).map(([name]) => name);
      assert.deepEqual(byStart, order);
    });

    await t.test(
      'a service with an invalid configuration is not stopped, nor are those after it',
      async () => {
        const before = await starts();
        const file = join(root, 'deploy/profiles/neo/fleet.yaml');
        const text = readFileSync(file, 'utf8');
        writeFileSync(file, text.replace('fleet:\n', 'fleet:\n  no_such_key: 1\n'));
        const { code, stderr } = await fleet(['up'], { FLEET_REVISION: 'a-third' });
        assert.equal(code, 1);
        assert.match(stderr, /^neo runs on as it was started, although .*: .*no_such_key/ms);
        assert.match(stderr, /^switch was not restarted, because neo failed, although the image changed$/m);
        const now = await starts();
        for (const name of ['neo', 'switch', 'console']) assert.equal(now.get(name), before.get(name));
        writeFileSync(file, text);
      },
    );

    await t.test('the state of a newer version is refused, also by a plain docker compose up', async () => {
      const before = await starts();
      const asUser = ['--user', '1000:1000', '--entrypoint', 'sh', 'keys', '-c'];
      await run(...asUser, 'echo 999.0.0 >/keys/operator/version');
      const newer = /was written by 999\.0\.0, this is \d+\.\d+\.\d+: install 999\.0\.0 or a later one/;
      const refused = await fleet(['up']);
      assert.equal(refused.code, 1);
      assert.match(refused.stdout + refused.stderr, newer);
      assert.deepEqual(await starts(), before);
      await docker(['compose', 'stop', 'switch']);
      const plain = await runProgram('docker', ['compose', 'up', '--detach', '--wait', 'switch'], {
        cwd: root,
        env,
        timeoutMs: 300_000,
      });
      assert.notEqual(plain.code, 0);
      assert.match(await docker(['compose', 'logs', 'keys']), newer);
    });
  });
