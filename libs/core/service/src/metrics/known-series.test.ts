import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { registerFamilies } from './families.ts';
import { startKnownSeries } from './known-series.ts';

test('known label sets start at 0', async () => {
  const registry = new Registry();
  const known = { profile: 'neo', peers: ['switch', 'trinity'], callers: ['switch'], tiers: ['haiku'] };
  startKnownSeries(registerFamilies(registry), known);
  const lines = new Set((await registry.metrics()).split('\n'));
  for (const name of [
    'fleet_tokens_spent_total{profile="neo",caller="switch",model_tier="haiku",type="input"}',
    'fleet_tokens_spent_total{profile="neo",caller="switch",model_tier="haiku",type="output"}',
    'fleet_tokens_cached_total',
    'fleet_tokens_saved_total',
    'fleet_token_drift_ratio_count{profile="neo",model_tier="haiku"}',
    'fleet_task_admissions_total{profile="neo",decision="accepted",reason="none"}',
    'fleet_task_admissions_total{profile="neo",decision="blocked",reason="mcp"}',
    'fleet_task_admissions_total{profile="neo",decision="blocked",reason="capacity"}',
    'fleet_peer_refusals_total{kind="capacity"}',
    'fleet_tasks_total{profile="neo",model_tier="haiku",status="done"}',
    'fleet_tasks_total{profile="neo",model_tier="haiku",status="canceled"}',
    'fleet_task_duration_seconds_count{profile="neo",model_tier="haiku",status="done"}',
    'fleet_tasks_total{profile="neo",model_tier="none",status="done"}',
    'fleet_task_turnaround_seconds_count{profile="neo",model_tier="none",status="partial"}',
    'fleet_tokens_spent_total{profile="neo",caller="other",model_tier="haiku",type="input"}',
    'fleet_tasks_in_flight',
    'fleet_dispatch_overhead_seconds_count',
    'fleet_handshake_announces_total{peer="trinity",direction="in",result="ok"}',
    'fleet_handshake_announces_total{peer="switch",direction="out",result="error"}',
    'fleet_peer_last_announce_timestamp_seconds{peer="trinity"}',
    'fleet_budget_overruns_total{action="exceeded"}',
    'fleet_model_call_duration_seconds_count{outcome="error"}',
    'fleet_resumes_total',
    'fleet_events_published_total{result="ok"}',
    'fleet_events_published_total{result="error"}',
    'fleet_push_attempts_total{result="given_up"}',
    'fleet_outbox_backlog',
    'fleet_outbox_oldest_age_seconds',
  ]) {
    assert.ok(lines.has(`${name} 0`), name);
  }
});
