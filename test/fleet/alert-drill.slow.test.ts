import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { FleetPlan } from '@hermes-fleet/cli';
import { createAuthority } from '@hermes-fleet/net/testing';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parse, stringify } from 'yaml';
import { RULES, runPrometheus, withoutPrometheus } from '../../deploy/grafana/testing/prometheus-server.ts';
import { type Fleet, PROFILES, runProgram, startFleet, until } from '../support/fleet.ts';
import { startModelServer } from '../support/model-server.ts';
import { call, dispatch, message } from '../support/rpc.ts';
import { shortenRules } from '../support/short-rules.ts';

const FIRES_MS = 120_000;
const BLOCKED = 40;
/** The model meters more input than any estimate of a short task. */
const METERED = { input: 30_000, output: 30 };

/** No file of a process may grow beyond it, in bytes: its disk is full as far as it can tell. Its log is smaller. */
const FULL_AT = 65_536;

/**
 * What is changed beside the windows: ages of minutes are shorter. No test fills a disk: the threshold of DiskFilling is
 * above any share of it that can be free, so that the alert fires at once. The 5% are tested in alerts.rules.test.yml.
 */
const THRESHOLDS = {
  '> 0) > 90': '> 0) > 45',
  'fleet_outbox_oldest_age_seconds) > 60': 'fleet_outbox_oldest_age_seconds) > 5',
  'queue=~"own|waiting"}) > 600': 'queue=~"own|waiting"}) > 5',
  '> 0)) < 0.05': '> 0)) < 2',
};

/** From and to, ms from now: the last tenth of a certificate's time. */
const DUE = [-9 * 86_400_000, 86_400_000] as const;

/** A feed of one bar, which is stale a few seconds later, and a breaker that trips then. */
function staleFeed(plan: FleetPlan): void {
  const file = join(plan.root, 'deploy/trader/trader.yaml');
  const config = parse(readFileSync(file, 'utf8'));
  config.trader.concerns[0].feed = { kind: 'csv', file: 'one-bar.csv', interval_s: 1 };
  config.trader.concerns[0].breakers = { stale_price: { after_s: 5 } };
  writeFileSync(file, stringify(config));
  const bar = 'time,open,high,low,close,volume\n2026-01-01T00:00:00Z,2,2,2,2,1\n';
  writeFileSync(join(plan.root, 'deploy/trader/one-bar.csv'), bar);
}

/** Changes a record of the audit of a trader that does not run. */
function tamper(fleet: Fleet): void {
  using db = new DatabaseSync(join(fleet.dir, 'state/trader/control.db'));
  db.exec(
    "DROP TRIGGER IF EXISTS audit_is_final; DROP TRIGGER IF EXISTS audit_is_kept; UPDATE audit SET record = record || ' ' WHERE seq = 1",
  );
}

const alertsIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.rules.yml'))
    .flatMap((name) => [...readFileSync(join(folder, name), 'utf8').matchAll(/- alert: (\w+)/g)])
    .map(([, name = '']) => name)
    .sort();

test('each alert fires in a real Prometheus when its cause is there, and none before; DiskFilling by a threshold that always holds', {
  skip: withoutPrometheus,
}, async (t) => {
  const model = await startModelServer(t, 'All is tidy.', METERED);
  const due = createAuthority(t).issue('trinity', { valid: DUE });
  const fleet = await startFleet(t, [...PROFILES, 'trader'], {
    env: { LOG_LEVEL: 'fatal' },
    onPlanned: staleFeed,
    fleetYaml(profile, shipped) {
      const config = parse(shipped);
      if (profile === 'trinity') config.fleet.tls = { cert_file: due.certFile, key_file: due.keyFile };
      return stringify(config);
    },
    configYaml: (profile, shipped) => {
      const config = parse(shipped);
      if (profile === 'neo')
        Object.assign(config, {
          model: 'openai-compatible/scripted',
          base_url: model.url,
          model_probe: { interval_s: 0.5, timeout_s: 1 },
        });
      if (profile === 'morpheus')
        Object.assign(config, { mcp: { servers: { gone: { command: 'false', scope: 'profile' } } } });
      return stringify(config);
    },
  });
  const rules = tempDir(t);
  shortenRules(RULES, rules, { factor: 60, leastS: 10, thresholds: THRESHOLDS });
  const seen = await runPrometheus(t, {
    intervalMs: 1_000,
    rules,
    targets: fleet.plan.members.map(({ name, port }) => ({
      targets: [`127.0.0.1:${port}`],
      labels: { profile: name },
    })),
  });
  const fired = new Set<string>();
  const firing = async (): Promise<ReadonlySet<string>> => {
    for (const { metric } of await seen.query('ALERTS{alertstate="firing"}'))
      fired.add(`${metric.alertname} ${metric.profile}`);
    return fired;
  };
  const fires = (alert: string, profile: string): Promise<void> =>
    until(
      async () => (await firing()).has(`${alert} ${profile}`),
      `${alert} to fire for ${profile}`,
      FIRES_MS,
    );
  const operator = fleet.target('switch');
  const send = (sent: Parameters<typeof dispatch>[0], profile = 'switch') =>
    call(fleet.target(profile), 'SendMessage', message(dispatch(sent), { returnImmediately: true }));

  await until(
    async () => (await seen.value('count(up == 1)')) === fleet.plan.members.length,
    'every member to be scraped',
  );
  await fires('TraderDegraded', 'trader');
  await fires('TraderBreakerTripped', 'trader');
  await fires('McpServerDown', 'morpheus');
  await fires('DiskFilling', 'switch');
  await fires('CertificateExpiring', 'trinity');
  const causedAtStart = new Set([
    'TraderDegraded',
    'TraderBreakerTripped',
    'McpServerDown',
    'DiskFilling',
    'CertificateExpiring',
  ]);
  assert.deepEqual(
    [...(await firing())].filter((each) => !causedAtStart.has(each.split(' ')[0] ?? '')),
    [],
    'nothing else fires in a fleet that works',
  );

  const tidy = { write: false, reply_schema: 'prose' };
  await send({ brief: 'Tidy up.', task: { ...tidy, token_budget: 12_000 } }, 'neo');
  await fires('BudgetOverrun', 'neo');

  for (let sent = 0; sent < BLOCKED; sent += 1)
    await call(
      operator,
      'SendMessage',
      message(
        dispatch({ brief: 'x', requirements: { required_mcp: ['nope'] }, routing: { target: 'auto' } }),
      ),
    );
  await fires('BlockedShareBurnsFast', 'switch');
  await fires('BlockedShareBurnsSlowly', 'switch');

  await model.stop();
  await fires('ModelDown', 'neo');
  await send({ brief: 'Tidy up.', task: tidy, routing: { target: 'neo' } });
  await fires('TasksWaitTooLong', 'switch');

  await fleet.terminate('trader');
  tamper(fleet);
  await fleet.up();
  await fires('AuditVerifyFailed', 'trader');

  await fleet.kill('trinity');
  await fires('ServiceDown', 'trinity');
  await fires('PeerStale', 'switch');

  const limitFiles = async (limit: number | 'unlimited'): Promise<void> => {
    const pid = String(fleet.process('morpheus').pid);
    const { code, stderr } = await runProgram('prlimit', ['--pid', pid, `--fsize=${limit}:unlimited`]);
    assert.equal(code, 0, stderr);
  };
  await limitFiles(FULL_AT);
  await until(
    async () => {
      await send({ brief: 'x' }, 'morpheus');
      return (await firing()).has('LedgerFailing morpheus');
    },
    'LedgerFailing to fire for morpheus',
    FIRES_MS,
  );

  await fleet.kill('nats');
  await send({ brief: 'x', requirements: { required_mcp: ['nope'] } });
  await fires('OutboxBehind', 'switch');

  await limitFiles('unlimited');
  rmSync(fleet.plan.natsStoreDir, { recursive: true });
  await fleet.up();
  await fires('StreamLacksEvents', 'switch');

  const names = [...fired].map((each) => each.split(' ')[0]);
  assert.deepEqual([...new Set(names)].sort(), alertsIn(RULES));
});
