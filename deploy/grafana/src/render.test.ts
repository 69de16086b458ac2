import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { FAMILIES } from '../testing/exporters.ts';
import { charts, expressions, FOLDER, filled, read } from '../testing/read-dashboard.ts';
import { dashboards, render } from './render.ts';

const rulesFile = join(import.meta.dirname, '../../prometheus/rules/fleet.rules.yml');
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  trader: ['datasource', 'profile', 'console', 'concern'],
};

test('every metric family is on a panel', () => {
  const asked = new Set(
    Object.keys(dashboards)
      .flatMap(expressions)
      .join(' ')
      .match(/\bfleet_\w+/g),
  );
  for (const name of Object.keys(FAMILIES))
    assert.ok(
      ['', '_bucket', '_count'].some((end) => asked.has(`${name}${end}`)),
      `${name} is on no panel`,
    );
});

test('thresholds are drawn where an alert or routing has one', () => {
  const drawn = Object.keys(dashboards).flatMap((name) =>
    charts(name).flatMap(({ title, fieldConfig }) => {
      const { custom, thresholds } = fieldConfig?.defaults ?? {};
      const values = thresholds?.steps.flatMap(({ value }) => value ?? []);
      return custom?.thresholdsStyle?.mode === 'line' ? [[title, values]] : [];
    }),
  );
  assert.deepEqual(Object.fromEntries(drawn), {
    'Time since the last announce': [90],
    'Blocked share against the objective': [0.05],
    'Age of the oldest waiting event': [60],
    'Free disk': [0.05],
    'Longest wait': [600],
  });
});

test('the overview begins with tokens spent and the blocked share', () => {
  const [first, second] = read('fleet-overview').panels;
  assert.deepEqual([first?.title, second?.title], ['Tokens spent', 'Blocked share']);
});

test('the committed dashboards match the generator', () => {
  assert.deepEqual(
    readdirSync(FOLDER).sort(),
    Object.keys(dashboards)
      .map((name) => `${name}.json`)
      .sort(),
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
      VARIABLES[name] ?? ['datasource', 'profile', 'console'],
    );
  });

  test(`${name}: it links to the other dashboards and to the console, and marks the starts of processes and deploys`, () => {
    const { tags, links, annotations } = read(name);
    const [boards, web] = links;
    assert.ok(boards?.type === 'dashboards' && boards.tags.every((tag) => tags.includes(tag)));
    assert.equal(web?.url, '$console');
    assert.ok(read(name).templating.list.some(({ query }) => query === 'http://localhost:9224'));
    assert.match(annotations.list[0]?.expr ?? '', /^process_start_time_seconds/);
    assert.match(annotations.list[1]?.expr ?? '', /^fleet:deploy:timestamp_seconds/);
  });

  test(`${name}: no legend lists counters that stand still`, () => {
    for (const { type, title, targets } of charts(name)) {
      if (type !== 'timeseries') continue;
      for (const { expr } of targets ?? [])
        if (expr.includes('rate(')) assert.match(expr, / >=? 0$/, `${title}: ${expr}`);
    }
  });

  test(`${name}: every query uses metrics that a service exports or a rule records`, () => {
    const recorded = [...readFileSync(rulesFile, 'utf8').matchAll(/record: (\S+)/g)].map((match) => match[1]);
    const asked = [...expressions(name), ...read(name).annotations.list.map(({ expr }) => expr)];
    for (const expr of asked) {
      for (const [metric] of expr.matchAll(/fleet[_:][a-z_:0-9]+/g)) {
        const family = metric.replace(/_(bucket|sum|count)$/, '');
        assert.ok(metric in FAMILIES || family in FAMILIES || recorded.includes(metric), metric);
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
