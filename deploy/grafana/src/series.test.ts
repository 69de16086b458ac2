import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dispatching, relayFleet, spending, type TestProfile } from '@hermes-fleet/gateway/testing';
import type { Family } from '@hermes-fleet/service';
import { consoleMetrics, FAMILIES, profileMetrics, traderMetrics } from '../testing/exporters.ts';
import { expressions } from '../testing/read-dashboard.ts';
import { dashboards } from './render.ts';

const RULES = join(import.meta.dirname, '../../prometheus/rules');
const skip = spawnSync('promtool', ['--version']).error ? 'promtool is not installed' : false;

/** A family that is recorded with labels that are known only when they are used: tools, routes, operations, reroutes. */
const isOpen = ({ labels = {}, starts, read }: Family): boolean =>
  !read && !starts && Object.values(labels).some((label) => 'more' in label && !label.from && !label.and);

/** The families that a dashboard or a rule reads, without the endings of histograms, and without the open ones. */
function familiesRead(): Set<string> {
  const rules = globSync('*.rules.yml', { cwd: RULES }).map((name) =>
    readFileSync(join(RULES, name), 'utf8'),
  );
  const texts = [...rules, ...Object.keys(dashboards).flatMap(expressions)].join('\n');
  const names = [...texts.matchAll(/\bfleet_\w+/g)].map(([name]) => name.replace(/_(bucket|count)$/, ''));
  return new Set(names.filter((name) => !isOpen(FAMILIES[name] ?? { help: '' })));
}

/** The series of these families on a metrics page. */
function seriesOf(page: string, families: ReadonlySet<string>): string[] {
  return page
    .split('\n')
    .filter((line) => families.has(line.replace(/(_bucket|_sum|_count)?[{ ].*$/, '')))
    .map((line) => line.slice(0, line.lastIndexOf(' ')));
}

test('nothing that happens adds a series to a family that a dashboard or a rule reads', async (t) => {
  const families = familiesRead();
  assert.ok(families.size > 20, [...families].join());
  const peer = { script: spending(1), tier: 'sonnet' };
  const { orchestrator, worker } = await relayFleet(t, { neo: peer, trinity: peer });
  const all = [orchestrator, worker('neo'), worker('trinity')];
  const shown = async (): Promise<string[]> => {
    const pages = await Promise.all(
      all.map(async (each) => [each, await each.metrics()] as [TestProfile, string]),
    );
    return pages.flatMap(([{ name }, page]) => seriesOf(page, families).map((each) => `${name} ${each}`));
  };
  const before = new Set(await shown());
  worker('neo').facts.usable = false;
  const stranger = { name: 'stranger', scopes: new Set(['dispatch']) };
  for (const caller of [undefined, stranger])
    for (const message of [
      dispatching(),
      dispatching({}, { routing: { target: 'nobody' } }),
      dispatching({ token_budget: 1 }, { routing: { on_blocked: 'fail' } }),
      dispatching({}, { routing: { target: 'neo', on_blocked: 'fail' } }),
    ])
      await orchestrator.result(await orchestrator.send(message, caller));
  const trinity = worker('trinity');
  await trinity.result(await trinity.send(dispatching(), stranger));
  const waiting = await orchestrator.send(dispatching({}, { routing: { target: 'neo' } }));
  await orchestrator.event(waiting, 'queued', 2);
  await orchestrator.gateway.cancel(waiting, { name: 'operator', scopes: new Set() });
  assert.deepEqual(
    (await shown()).filter((each) => !before.has(each)),
    [],
  );
});

test('promtool accepts the metrics of a profile, of the trader and of the console', { skip }, async () => {
  for (const { registry, record } of [profileMetrics(), traderMetrics(), consoleMetrics()]) {
    record();
    const checked = spawnSync('promtool', ['check', 'metrics'], {
      input: await registry.metrics(),
      encoding: 'utf8',
    });
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  }
});
