import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { consoleMetrics, profileMetrics, traderMetrics } from '../testing/exporters.ts';
import { startPrometheus, withoutPrometheus } from '../testing/prometheus-server.ts';
import { expressions, filled, read } from '../testing/read-dashboard.ts';
import { dashboards } from './render.ts';

const TIMEOUT_MS = 30_000;

test('a real Prometheus has data for every query and every variable of every dashboard', {
  skip: withoutPrometheus,
  timeout: 120_000,
}, async (t) => {
  const [neo, trader, web] = [profileMetrics(), traderMetrics(), consoleMetrics()];
  const scrape =
    ({ registry, record }: typeof neo) =>
    () => {
      record();
      return registry.metrics();
    };
  const server = await startPrometheus(t, { neo: scrape(neo), trader: scrape(trader), console: scrape(web) });
  const giveUpAt = Date.now() + TIMEOUT_MS;
  const answered = async (what: string, expr: string): Promise<void> => {
    while ((await server.query(expr)).length === 0) {
      assert.ok(Date.now() < giveUpAt, `no data for ${what}: ${expr}`);
      await sleep(100);
    }
  };
  for (const name of Object.keys(dashboards)) {
    const asked = expressions(name);
    assert.ok(asked.length > 6, name);
    for (const expr of asked) await answered(name, filled(expr));
    // A deploy takes longer than this test: fleet.rules.test.yml has its rule.
    const [starts] = read(name).annotations.list;
    await answered(`${name}, starts`, filled(starts?.expr ?? ''));
    for (const { name: variable, query } of read(name).templating.list) {
      const [, selector, label] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
      if (selector === undefined) assert.ok(['datasource', 'console'].includes(variable), variable);
      else await answered(`${name}, ${variable}`, `count by (${label}) (${filled(selector)})`);
    }
  }
});
