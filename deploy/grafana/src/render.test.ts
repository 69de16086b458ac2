import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { dashboards, render } from './render.ts';
import { traderMetrics } from './testing/exporters.ts';
import { charts, expressions, FOLDER, filled, read } from './testing/read-dashboard.ts';

const rulesFile = join(import.meta.dirname, '../../prometheus/rules/fleet.rules.yml');
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'fleet-overview': ['datasource', 'profile'],
  trader: ['datasource', 'profile', 'concern'],
};

test('the committed dashboards match the generator', () => {
  assert.deepEqual(
    readdirSync(FOLDER).sort(),
    Object.keys(dashboards).map((name) => `${name}.json`),
  );
  for (const [name, build] of Object.entries(dashboards)) {
    assert.equal(
      readFileSync(join(FOLDER, `${name}.json`), 'utf8'),
      render(build()),
      `${name}.json is stale: run node deploy/grafana/src/generate.ts`,
    );
  }
});

for (const name of Object.keys(dashboards)) {
  test(`${name}: every panel has a unique id, a unit, a description, queries and legends`, () => {
    const panels = read(name).panels;
    assert.equal(new Set(panels.map((panel) => panel.id)).size, panels.length);
    for (const panel of charts(name)) {
      assert.ok(panel.title && panel.description && panel.fieldConfig?.defaults.unit, `panel ${panel.id}`);
      assert.ok(panel.targets?.length, `panel ${panel.id} asks nothing`);
      for (const target of panel.targets) assert.ok(target.legendFormat, `panel ${panel.id} has no legend`);
    }
    assert.deepEqual(
      read(name).templating.list.map((variable) => variable.name),
      VARIABLES[name],
    );
  });

  test(`${name}: every query uses metrics that a service exports or a rule records`, async () => {
    const exported = new Set(
      (await traderMetrics().registry.getMetricsAsJSON()).map((family) => family.name),
    );
    const recorded = [...readFileSync(rulesFile, 'utf8').matchAll(/record: (\S+)/g)].map((match) => match[1]);
    for (const expr of expressions(name)) {
      for (const [metric] of expr.matchAll(/fleet[_:][a-z_:0-9]+/g)) {
        const family = metric.replace(/_(bucket|sum|count)$/, '');
        assert.ok(exported.has(metric) || exported.has(family) || recorded.includes(metric), metric);
      }
    }
  });

  const promtool = spawnSync('promtool', ['--version']).error === undefined;
  test(`${name}: every query is valid PromQL`, {
    skip: promtool ? false : 'promtool is not installed',
  }, (t) => {
    const dir = tempDir(t, { prefix: 'dashboards-' });
    const rules = expressions(name).map((expr, index) => ({ record: `query_${index}`, expr: filled(expr) }));
    writeFileSync(join(dir, 'queries.json'), JSON.stringify({ groups: [{ name, rules }] }));
    const checked = spawnSync('promtool', ['check', 'rules', join(dir, 'queries.json')], {
      encoding: 'utf8',
    });
    assert.equal(checked.status, 0, checked.stderr);
  });
}
