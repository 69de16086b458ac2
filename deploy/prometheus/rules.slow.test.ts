import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';

const RULES = join(import.meta.dirname, 'rules');
const ROOT = join(import.meta.dirname, '../..');
const skip = spawnSync('promtool', ['--version']).error ? 'promtool is not installed' : false;
const promtool = (...args: string[]): void => {
  const run = spawnSync('promtool', args, { cwd: RULES, encoding: 'utf8' });
  assert.equal(run.status, 0, run.stdout + run.stderr);
};
const files = readdirSync(RULES).filter((file) => file.endsWith('.rules.yml'));

interface Rule {
  readonly alert?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const rulesIn = (file: string): Rule[] => {
  const { groups }: { groups: { rules: Rule[] }[] } = parse(readFileSync(join(RULES, file), 'utf8'));
  return groups.flatMap(({ rules }) => rules);
};

for (const file of files) {
  test(`${file}: the rules are valid and pass their promtool tests`, { skip }, () => {
    promtool('check', 'rules', file);
    promtool('test', 'rules', file.replace('.rules.yml', '.rules.test.yml'));
  });

  if (!rulesIn(file).some(({ alert }) => alert !== undefined)) continue;
  test(`${file}: every alert has a test, a summary and an existing runbook`, () => {
    const tests = readFileSync(join(RULES, file.replace('.rules.yml', '.rules.test.yml')), 'utf8');
    for (const { alert, annotations } of rulesIn(file)) {
      if (alert === undefined) continue;
      assert.ok(tests.includes(`alertname: ${alert}`), `${alert} has no test`);
      assert.ok(annotations?.summary, `${alert} has no summary`);
      const [doc = '', anchor = ''] = (annotations.runbook_url ?? '').split('#');
      const sections = readFileSync(join(ROOT, doc), 'utf8').split(/^#+ /m);
      const section = sections.find(
        (text) => text.split('\n')[0]?.toLowerCase().replaceAll(' ', '-') === anchor,
      );
      assert.ok(section, `${alert}: ${doc} has no heading for #${anchor}`);
      assert.ok(section.includes(alert), `${alert}: #${anchor} of ${doc} does not name it`);
      assert.match(section, /^1\. |What to do:/m, `${alert}: #${anchor} of ${doc} does not say what to do`);
    }
  });
}

test('the trader has its alerts', () => {
  const alerts = rulesIn('trader.rules.yml').map(({ alert }) => alert);
  assert.deepEqual(alerts, ['TraderDegraded', 'TraderBreakerTripped', 'AuditVerifyFailed']);
});

test('the fleet has an alert for each kind of failure', () => {
  const alerts = rulesIn('alerts.rules.yml').map(({ alert }) => alert);
  assert.deepEqual(alerts, [
    'ServiceDown',
    'PeerStale',
    'ModelDown',
    'McpServerDown',
    'OutboxBehind',
    'StreamLacksEvents',
    'LedgerFailing',
    'DiskFilling',
    'CertificateExpiring',
    'BlockedShareBurnsFast',
    'BlockedShareBurnsSlowly',
    'BudgetOverrun',
    'TasksWaitTooLong',
  ]);
});

test('the Prometheus configuration is valid', { skip }, () => {
  promtool('check', 'config', '--syntax-only', '../prometheus.yml');
});
