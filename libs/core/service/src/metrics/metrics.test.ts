import assert from 'node:assert/strict';
import perfHooks from 'node:perf_hooks';
import { test } from 'node:test';
import { LEDGER_COUNTERS } from '@hermes-fleet/protocol/ports';
import { MEMBER_FAMILIES } from './families.ts';
import { type Families, kindOf } from './family.ts';
import { createMetrics, type FleetMetrics } from './metrics.ts';

const FAMILIES: Families = MEMBER_FAMILIES;

const create = (): FleetMetrics =>
  createMetrics({
    profile: 'neo',
    peers: ['switch', 'trinity'],
    callers: ['switch'],
    tiers: ['haiku'],
    defaultMetrics: false,
  });

test('known label sets start at 0', async () => {
  const lines = new Set((await create().registry.metrics()).split('\n'));
  for (const name of [
    'fleet_tokens_spent_total{profile="neo",caller="switch",model_tier="haiku",type="output"}',
    'fleet_tokens_spent_total{profile="neo",caller="other",model_tier="haiku",type="input"}',
    'fleet_tokens_cached_total',
    'fleet_token_drift_ratio_count{profile="neo",model_tier="haiku"}',
    'fleet_task_admissions_total{profile="neo",decision="accepted",reason="none"}',
    'fleet_task_admissions_total{profile="neo",decision="blocked",reason="capacity"}',
    'fleet_peer_refusals_total{kind="capacity"}',
    'fleet_tasks_total{profile="neo",model_tier="haiku",status="canceled"}',
    'fleet_tasks_total{profile="neo",model_tier="none",status="done"}',
    'fleet_task_turnaround_seconds_count{profile="neo",model_tier="none",status="partial"}',
    'fleet_handshake_announces_total{peer="switch",direction="out",result="error"}',
    'fleet_peer_last_announce_timestamp_seconds{peer="trinity"}',
    'fleet_budget_overruns_total{action="exceeded"}',
    'fleet_guard_interventions_total{guard="loop",level="harder"}',
    'fleet_push_attempts_total{result="given_up"}',
  ])
    assert.ok(lines.has(`${name} 0`), name);
  assert.ok(
    ![...lines].some((line) => line.startsWith('fleet_task_admissions') && /accepted.*"mcp"/.test(line)),
  );
});

test('each counter that a ledger keeps continues one family', () => {
  const kept = Object.values(FAMILIES).flatMap(({ ledger }) => ledger ?? []);
  assert.deepEqual(kept.sort(), Object.keys(LEDGER_COUNTERS).sort());
});

test('hostile labels cannot create more than a few thousand series', async () => {
  const metrics = createMetrics({
    profile: 'neo',
    peers: ['switch'],
    callers: ['switch'],
    defaultMetrics: false,
  });
  const { add, observe, set } = metrics;
  const writes = { counter: add, histogram: observe, gauge: set };
  for (let at = 0; at < 3000; at += 1)
    for (const [name, family] of Object.entries(FAMILIES)) {
      const words = Object.keys(family.labels ?? {}).map((label) => [label, `w${at}`]);
      // Values that the types forbid may still occur by mistake.
      if (!family.read)
        Reflect.apply(writes[kindOf(name, family)], undefined, [name, Object.fromEntries(words), 1]);
    }
  const lines = (await metrics.registry.metrics()).split('\n').filter((line) => /^fleet_/.test(line));
  assert.ok(lines.length < 5000, `${lines.length} series`);
});

test("Node's own metrics are included unless they are disabled", async () => {
  const withDefaults = createMetrics({ profile: 'neo', peers: [], callers: [] });
  assert.match(await withDefaults.registry.metrics(), /process_resident_memory_bytes \d+/);
  assert.doesNotMatch(await create().registry.metrics(), /process_/);
});

test('the delay of the event loop is measured ten times a second, so that an idle process sleeps', (t) => {
  const monitor = t.mock.method(perfHooks, 'monitorEventLoopDelay');
  createMetrics({ profile: 'neo', peers: [], callers: [] });
  assert.deepEqual(
    monitor.mock.calls.map(({ arguments: [options] }) => options),
    [{ resolution: 100 }],
  );
});

test('two instances in one process do not share a registry', async () => {
  const [one, two] = [create(), create()];
  one.add('fleet_resumes_total', {});
  assert.match(await two.registry.metrics(), /^fleet_resumes_total 0$/m);
});
