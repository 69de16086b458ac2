import assert from 'node:assert/strict';
import perfHooks from 'node:perf_hooks';
import { test } from 'node:test';
import type { LedgerCounter } from '@hermes-fleet/protocol/ports';
import { createMetrics, type FleetMetrics } from './metrics.ts';

const create = (): FleetMetrics =>
  createMetrics({
    profile: 'neo',
    peers: ['switch', 'trinity'],
    callers: ['switch'],
    tiers: ['haiku'],
    defaultMetrics: false,
  });

const count = (metrics: FleetMetrics, counter: LedgerCounter, by: number, ...labels: string[]): void =>
  metrics.count([{ counter, labels, by }]);

async function samples(metrics: FleetMetrics): Promise<Map<string, number>> {
  const lines = (await metrics.registry.metrics())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

const recorded: readonly {
  readonly record: (metrics: FleetMetrics) => void;
  readonly expect: Record<string, number>;
}[] = [
  {
    record: (m) =>
      m.count([
        { counter: 'tokens_spent', labels: ['switch', 'haiku', 'input'], by: 7 },
        { counter: 'tokens_spent', labels: ['switch', 'haiku', 'output'], by: 5 },
      ]),
    expect: {
      'fleet_tokens_spent_total{profile="neo",caller="switch",model_tier="haiku",type="input"}': 7,
      'fleet_tokens_spent_total{profile="neo",caller="switch",model_tier="haiku",type="output"}': 5,
    },
  },
  {
    record: (m) => count(m, 'tokens_spent', 1, 'stranger', 'sonnet', 'input'),
    expect: { 'fleet_tokens_spent_total{profile="neo",caller="other",model_tier="sonnet",type="input"}': 1 },
  },
  { record: (m) => count(m, 'tokens_cached', 9), expect: { fleet_tokens_cached_total: 9 } },
  {
    record: (m) => m.tokenDrift('haiku', 1.2),
    expect: {
      'fleet_token_drift_ratio_sum{profile="neo",model_tier="haiku"}': 1.2,
      'fleet_token_drift_ratio_count{profile="neo",model_tier="haiku"}': 1,
      'fleet_token_drift_ratio_bucket{le="1.1",profile="neo",model_tier="haiku"}': 0,
      'fleet_token_drift_ratio_bucket{le="1.25",profile="neo",model_tier="haiku"}': 1,
    },
  },
  {
    record: (m) => count(m, 'admissions', 1, 'accepted', 'whatever'),
    expect: { 'fleet_task_admissions_total{profile="neo",decision="accepted",reason="none"}': 1 },
  },
  {
    record: (m) => count(m, 'admissions', 1, 'blocked', 'mcp'),
    expect: { 'fleet_task_admissions_total{profile="neo",decision="blocked",reason="mcp"}': 1 },
  },
  {
    record: (m) => count(m, 'admissions', 1, 'blocked', 'required MCP server "trek" is not healthy'),
    expect: { 'fleet_task_admissions_total{profile="neo",decision="blocked",reason="other"}': 1 },
  },
  {
    record: (m) => count(m, 'peer_refusals', 1, 'mcp'),
    expect: { 'fleet_peer_refusals_total{kind="mcp"}': 1 },
  },
  {
    record: (m) => count(m, 'peer_refusals', 1, 'a sentence'),
    expect: { 'fleet_peer_refusals_total{kind="other"}': 1 },
  },
  {
    record: (m) => count(m, 'tasks', 2, 'haiku', 'blocked'),
    expect: { 'fleet_tasks_total{profile="neo",model_tier="haiku",status="blocked"}': 2 },
  },
  {
    record: (m) => m.taskTook('haiku', 'done', { run: 3, total: 4 }),
    expect: {
      'fleet_task_turnaround_seconds_sum{profile="neo",model_tier="haiku",status="done"}': 4,
      'fleet_task_duration_seconds_sum{profile="neo",model_tier="haiku",status="done"}': 3,
    },
  },
  {
    record: (m) => m.spending('switch', { limit: 9, spent: 3, reserved: 2 }),
    expect: {
      'fleet_spending_ceiling_tokens{scope="caller",caller="switch"}': 9,
      'fleet_spending_spent_tokens{scope="caller",caller="switch"}': 3,
      'fleet_spending_reserved_tokens{scope="caller",caller="switch"}': 2,
    },
  },
  { record: (m) => m.spending('stranger', { limit: 9, spent: 3, reserved: 2 }), expect: {} },
  {
    record: (m) => m.taskTreeCeiling(7),
    expect: { 'fleet_spending_ceiling_tokens{scope="task_tree",caller="all"}': 7 },
  },
  { record: (m) => m.tasksInFlight(2), expect: { fleet_tasks_in_flight: 2 } },
  { record: (m) => count(m, 'tokens_saved', 2000), expect: { fleet_tokens_saved_total: 2000 } },
  { record: (m) => m.dispatchOverhead(0.5), expect: { fleet_dispatch_overhead_seconds_sum: 0.5 } },
  {
    record: (m) => m.announce('trinity', 'in', 'ok'),
    expect: { 'fleet_handshake_announces_total{peer="trinity",direction="in",result="ok"}': 1 },
  },
  {
    record: (m) => m.announce('stranger', 'out', 'refused'),
    expect: { 'fleet_handshake_announces_total{peer="other",direction="out",result="refused"}': 1 },
  },
  {
    record: (m) => m.peerLastAnnounce('trinity', 1_700_000_000),
    expect: { 'fleet_peer_last_announce_timestamp_seconds{peer="trinity"}': 1_700_000_000 },
  },
  { record: (m) => m.mcpServerUp('trek', true), expect: { 'fleet_mcp_server_up{server="trek"}': 1 } },
  { record: (m) => m.mcpServerUp('trek', false), expect: { 'fleet_mcp_server_up{server="trek"}': 0 } },
  {
    record: (m) => m.mcpOperation('trek', 'tools/call', 'ok', 0.25),
    expect: {
      'fleet_mcp_operation_duration_seconds_sum{server="trek",method="tools/call",outcome="ok"}': 0.25,
    },
  },
  { record: (m) => m.dependencies({ nats: true }), expect: { 'fleet_dependency_up{dependency="nats"}': 1 } },
  { record: (m) => m.queueDepth('normal', 4), expect: { 'fleet_queue_depth{queue="normal"}': 4 } },
  {
    record: (m) => m.queueOldestAge('normal', 8),
    expect: { 'fleet_queue_oldest_age_seconds{queue="normal"}': 8 },
  },
  { record: (m) => m.retry('timeout'), expect: { 'fleet_task_retries_total{reason="timeout"}': 1 } },
  {
    record: (m) => m.reroute('neo', 'trinity', 'mcp'),
    expect: { 'fleet_task_reroutes_total{from="neo",to="trinity",reason="mcp"}': 1 },
  },
  { record: (m) => m.budgetOverrun('stop'), expect: { 'fleet_budget_overruns_total{action="stop"}': 1 } },
  {
    record: (m) => m.guard('repeat', 'warn'),
    expect: { 'fleet_guard_interventions_total{guard="repeat",level="warn"}': 1 },
  },
  {
    record: (m) => m.compaction('summary'),
    expect: {
      'fleet_agent_compactions_total{stage="summary"}': 1,
      'fleet_agent_compactions_total{stage="prune"}': 0,
    },
  },
  {
    record: (m) => m.toolCall('shell_exec', false),
    expect: { 'fleet_tool_calls_total{tool="shell_exec",result="error"}': 1 },
  },
  {
    record: (m) => m.modelCall({ outcome: 'ok', seconds: 3, firstTokenSeconds: 0.5 }),
    expect: {
      'fleet_model_call_duration_seconds_sum{outcome="ok"}': 3,
      fleet_model_first_token_seconds_sum: 0.5,
    },
  },
  { record: (m) => m.resumed(), expect: { fleet_resumes_total: 1 } },
  { record: (m) => m.pushAttempt('ok'), expect: { 'fleet_push_attempts_total{result="ok"}': 1 } },
  { record: (m) => m.eventPublished('ok'), expect: { 'fleet_events_published_total{result="ok"}': 1 } },
  {
    record: (m) => m.outbox({ count: 3, oldestAgeS: 1.5 }),
    expect: { fleet_outbox_backlog: 3, fleet_outbox_oldest_age_seconds: 1.5 },
  },
  {
    record: (m) => m.httpRequest('BREW', '/tasks/:id', 200, 0.1),
    expect: {
      'fleet_http_requests_total{method="other",route="/tasks/:id",status="200"}': 1,
      'fleet_http_request_duration_seconds_sum{method="other",route="/tasks/:id"}': 0.1,
    },
  },
];

test('every recorder changes only its own series', async () => {
  for (const { record, expect } of recorded) {
    const metrics = create();
    const before = await samples(metrics);
    record(metrics);
    const after = await samples(metrics);
    for (const [name, value] of Object.entries(expect)) assert.equal(after.get(name), value, name);
    const families = new Set(
      Object.keys(expect).map((name) => name.replace(/(_(sum|count|bucket))?(\{.*)?$/, '')),
    );
    for (const [name, value] of after) {
      const own = [...families].some((family) => name.startsWith(family));
      if (!own) assert.equal(before.get(name), value, name);
    }
  }
});

test('recorders neither throw for nor count invalid amounts', async () => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
    const metrics = create();
    const before = await samples(metrics);
    count(metrics, 'tokens_spent', bad, 'switch', 'haiku', 'input');
    count(metrics, 'tokens_cached', bad);
    count(metrics, 'tokens_saved', bad);
    metrics.tokenDrift('haiku', bad);
    metrics.tasksInFlight(bad);
    metrics.spending(undefined, { limit: bad, spent: bad, reserved: bad });
    metrics.taskTreeCeiling(bad);
    metrics.dispatchOverhead(bad);
    metrics.peerLastAnnounce('switch', bad);
    metrics.mcpOperation('trek', 'ping', 'ok', bad);
    metrics.queueDepth('normal', bad);
    metrics.queueOldestAge('normal', bad);
    metrics.outbox({ count: bad, oldestAgeS: bad });
    assert.deepEqual(await samples(metrics), before);
    metrics.taskTook('haiku', 'done', { run: bad, total: bad });
    metrics.httpRequest('GET', '/x', 200, bad);
    const after = await samples(metrics);
    assert.equal(
      after.get('fleet_task_duration_seconds_count{profile="neo",model_tier="haiku",status="done"}'),
      0,
    );
  }
});

test('hostile labels cannot create more than a few thousand series', async () => {
  const metrics = createMetrics({
    profile: 'neo',
    peers: ['switch'],
    callers: ['switch'],
    defaultMetrics: false,
  });
  for (let at = 0; at < 3000; at += 1) {
    const word = `w${at}`;
    count(metrics, 'tokens_spent', 1, word, word, word);
    count(metrics, 'tasks', 1, word, word);
    count(metrics, 'peer_refusals', 1, word);
    metrics.tokenDrift(word, 1);
    count(metrics, 'admissions', 1, 'blocked', word);
    metrics.announce(word, 'in', word);
    metrics.peerLastAnnounce(word, 1);
    metrics.mcpServerUp(word, true);
    metrics.queueDepth(word, 1);
    metrics.queueOldestAge(word, 1);
    metrics.retry(word);
    metrics.reroute(word, word, word);
    metrics.budgetOverrun(word);
    metrics.guard(word, word);
    metrics.compaction(word);
    metrics.eventPublished(word);
    metrics.httpRequest(word, word, 200, 1);
    metrics.taskTook(word, word, { run: 1, total: 1 });
    metrics.mcpOperation(word, word, word, 1);
  }
  const series = (await samples(metrics)).size;
  assert.ok(series < 5000, `${series} series`);
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
  one.resumed();
  assert.equal((await samples(two)).get('fleet_resumes_total'), 0);
});
