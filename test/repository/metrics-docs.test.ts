import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import {
  createMetrics,
  registerBuild,
  registerCertificates,
  registerCircuits,
  registerDisk,
} from '@hermes-fleet/service';
import { registerConsoleFamilies } from '../../services/console/src/metrics.ts';
import { createBooksMetrics } from '../../services/trader/src/books/metrics.ts';
import { createTraderMetrics } from '../../services/trader/src/metrics.ts';
import { doc, plain, rows } from '../support/docs.ts';
import { ROOT } from '../support/fleet.ts';

const at1 = (match: RegExpMatchArray): string => match[1] ?? '';

test('metrics.md has every alert', () => {
  const written = [...doc('docs/metrics.md').matchAll(/^\| ([A-Z]\w+) \|/gm)].map(at1);
  const rules = globSync('deploy/prometheus/rules/*.rules.yml', { cwd: ROOT }).map(doc).join('\n');
  assert.deepEqual(written.sort(), [...rules.matchAll(/- alert: (\w+)/g)].map(at1).sort());
});

test('metrics.md has every family, with its type and labels', () => {
  const { registry } = createMetrics({ profile: 'x', peers: [], callers: [], defaultMetrics: false });
  const none = () => undefined;
  createTraderMetrics({
    registry,
    store: {
      head: () => ({ seq: 0, hash: '' }),
      concern: none,
      decisionInForce: none,
      callerOfDecision: none,
    },
    runtime: { view: () => undefined, health: () => ({ degraded: false, reasons: [] }) },
    concerns: [],
    strategies: [],
  });
  const keeper = { analysis: () => assert.fail('there is no concern'), problem: () => undefined };
  createBooksMetrics({ registry, keeper, concerns: [], nameOf: () => '' });
  registerConsoleFamilies(registry, () => ({ connected: false, behind: undefined, sessions: 0 }));
  registerBuild(registry, { version: '0', revision: undefined });
  registerDisk(registry, 'ledger.db');
  registerCertificates(registry, () => ({}));
  registerCircuits(registry, () => ({}));
  const families = registry.getMetricsAsArray().map((metric) => {
    const { name, type } = metric as { name: string; type: unknown };
    const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : [];
    return [name, String(type), labels.filter((label) => label !== 'le').join(', ')];
  });
  const documented = rows(doc('docs/metrics.md')).map((row) => row.slice(0, 3).map(plain));
  assert.deepEqual(documented.sort(), families.sort());
});
