import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parse } from 'yaml';
import { findProgram } from './nats-server.ts';
import { runningProcess } from './pid-file.ts';
import { planFleet } from './plan.ts';
import { planPrometheus, prometheusDown, prometheusStatus, prometheusUp } from './prometheus.ts';

const skip = spawnSync('prometheus', ['--version']).error ? 'prometheus is not installed' : false;
const root = resolve(import.meta.dirname, '../../../..');

function small(t: TestContext) {
  const dir = tempDir(t, { prefix: 'prometheus-', closeFirst: () => prometheusDown(plan, clock) });
  const plan = planFleet({ root, dir: join(dir, 'fleet'), portOffset: 20_000 + (process.pid % 3_500) * 6 });
  mkdirSync(plan.dir);
  return { plan, planned: planPrometheus(plan), env: process.env };
}

interface Scrape {
  readonly job_name: string;
  readonly honor_labels?: boolean;
  readonly static_configs: { readonly targets: string[]; readonly labels?: { readonly profile: string } }[];
}

test('Prometheus runs on loopback with the members of the fleet and its rules, until the fleet is taken down', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const { plan, planned, env } = small(t);
  const outcome = await prometheusUp({ plan, env: { ...env, ANTHROPIC_API_KEY: 'secret' }, clock });
  assert.deepEqual(outcome, { name: 'prometheus', url: planned.url, state: 'started' });
  assert.equal((await prometheusStatus(plan))?.state, 'ready');
  const { pid } = runningProcess(plan.runDir, 'prometheus') ?? assert.fail('not running');
  assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /secret/);
  assert.equal(statSync(planned.dir).mode & 0o777, 0o700);
  const read = async (path: string) =>
    JSON.parse(await (await fetch(`${planned.url}/api/v1/${path}`)).text()).data;
  const flags = await read('status/flags');
  assert.equal(flags['web.listen-address'], `127.0.0.1:${planned.port}`);
  assert.deepEqual(
    [
      flags['storage.tsdb.retention.time'],
      flags['storage.tsdb.retention.size'],
      flags['web.enable-admin-api'],
    ],
    ['15d', '1GiB', 'false'],
  );
  const { groups } = await read('rules');
  assert.ok(groups.some(({ rules }: { rules: { name: string }[] }) => rules[0]?.name === 'ServiceDown'));

  assert.equal((await prometheusUp({ plan, env, clock }))?.state, 'already running');
  const readAt = async (): Promise<number> => {
    const page = await (await fetch(`${planned.url}/metrics`)).text();
    return Number(/^prometheus_config_last_reload_success_timestamp_seconds (\S+)$/m.exec(page)?.[1]);
  };
  const before = await readAt();
  await prometheusUp({ plan, env, clock });
  writeFileSync(planned.configFile, '{}');
  await prometheusUp({ plan, env, clock });
  while ((await readAt()) === before) await clock.sleep(20);
  const loads = readFileSync(planned.logFile, 'utf8').match(/msg="Loading configuration file"/g);
  assert.equal(loads?.length, 2, 'at its start and after the change, and not for an equal configuration');
  assert.equal(runningProcess(plan.runDir, 'prometheus')?.pid, pid, 'it reads a changed configuration');
  assert.equal((await prometheusDown(plan, clock))?.state, 'stopped');
  assert.equal(await prometheusStatus(plan), undefined);
  assert.equal(await prometheusDown(plan, clock), undefined);
});

test('a Prometheus whose program has changed is restarted, or runs on where that is asked', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const { plan, env } = small(t);
  await prometheusUp({ plan, env, clock });
  const link = join(plan.dir, 'another');
  symlinkSync(findProgram('prometheus', env) ?? assert.fail('not found'), link);
  const changed = { plan, env: { ...env, PROMETHEUS_BIN: link }, clock };
  const kept = await prometheusUp({ ...changed, withRestarts: false });
  assert.deepEqual([kept?.state, kept?.reason], ['already running', 'runs on, although the program changed']);
  const outcome = await prometheusUp(changed);
  assert.deepEqual([outcome?.state, outcome?.reason], ['restarted', 'the program changed']);
});

test('it scrapes what Prometheus scrapes in containers', { skip, timeout: 120_000 }, async (t) => {
  const { plan, planned, env } = small(t);
  await prometheusUp({ plan, env, clock });
  const scrapes = (text: string) =>
    (parse(text).scrape_configs as Scrape[]).map(({ job_name, honor_labels, static_configs }) => [
      job_name,
      honor_labels,
      static_configs.map(({ labels }) => labels?.profile).sort(),
    ]);
  assert.deepEqual(
    scrapes(readFileSync(planned.configFile, 'utf8')),
    scrapes(readFileSync(join(root, 'deploy/prometheus/prometheus.yml'), 'utf8')),
  );
});

test('without its program, or with an empty PROMETHEUS_BIN, nothing is started or written', async (t) => {
  const { plan, planned, env } = small(t);
  for (const without of [{ PATH: plan.dir }, { ...env, PROMETHEUS_BIN: '' }])
    assert.equal(await prometheusUp({ plan, env: without, clock }), undefined);
  assert.equal(existsSync(planned.dir), false);
});

test('a program that cannot start, and a port that is taken, are outcomes with their reason', async (t) => {
  const { plan, planned, env } = small(t);
  const missing = await prometheusUp({ plan, env: { ...env, PROMETHEUS_BIN: '/nowhere' }, clock });
  assert.equal(missing?.state, 'failed');
  assert.match(missing?.reason ?? '', /could not be started/);
  const other = createServer().listen(planned.port, '127.0.0.1');
  t.after(() => other.close());
  const taken = await prometheusUp({ plan, env: { ...env, PROMETHEUS_BIN: '/nowhere' }, clock });
  assert.match(taken?.reason ?? '', new RegExp(`port ${planned.port} is in use`));
});
