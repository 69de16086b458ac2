import type { BlockedDocument } from '../../src/http/blocked.ts';
import type { FleetDocument, PeerRow } from '../../src/http/fleet.ts';
import type { SpendingDocument } from '../../src/http/spending.ts';
import type { TraderDocument } from '../../src/http/trader.ts';
import { booksDocument } from './books-fixture.ts';
import { idOf, MARKUP } from './tasks-fixture.ts';

const BUCKETS = 24;
const STEP_S = 3600;

/** The documents of the views other than tasks, by the path of the API. */
export function viewDocuments(now: number): Record<string, unknown> {
  const before = (s: number): string => new Date(now - s * 1000).toISOString();
  const times = Array.from({ length: BUCKETS }, (_, at) => before((BUCKETS - at) * STEP_S));
  return {
    '/api/fleet': fleet(before),
    '/api/blocked': blocked(times),
    '/api/spending': spending(times),
    '/api/trader': trader(times, before),
    '/api/trader/books': booksDocument(now),
    '/api/route': {
      chosen: 'morpheus',
      considered: [
        { peer: 'morpheus', verdict: 'chosen', score: 101, reasons: ['preferred tier'] },
        { peer: 'neo', verdict: 'excluded', score: 0, reasons: [`MCP server ${MARKUP} is not declared`] },
      ],
      unmet: [],
      waitable: true,
    },
    '/api/send': { profile: 'switch', id: idOf(1) },
  };
}

type Before = (s: number) => string;

function fleet(before: Before): FleetDocument {
  const peer = (name: string, change: Partial<PeerRow>): PeerRow => ({
    name,
    role: 'worker',
    endpoint: `http://${name}:9220`,
    ready: true,
    model: 'claude-sonnet-4',
    model_tier: 'sonnet',
    model_health: 'ok',
    context_window: 200_000,
    mcp: [
      { name: 'filesystem', health: 'ok' },
      { name: 'memory', health: 'ok' },
    ],
    tools: ['terminal', 'file', 'patch', 'web'],
    active_tasks: 1,
    max_tasks: 4,
    queued_tasks: 0,
    queue_depth: 50,
    free_slots: 3,
    repository: { branch: 'main', clean: true, base_clean: null, health: 'ok' },
    announced_at: before(7),
    ttl_s: 90,
    circuit: null,
    standing: null,
    ...change,
  });
  return {
    peers: [
      peer('switch', { role: 'orchestrator', active_tasks: 0, free_slots: 4 }),
      peer('neo', {
        model: 'claude-haiku-4',
        model_tier: 'haiku',
        mcp: [
          { name: 'filesystem', health: 'ok' },
          { name: MARKUP, health: 'down' },
        ],
      }),
      peer('morpheus', {
        active_tasks: 4,
        free_slots: 0,
        queued_tasks: 3,
        tools: ['terminal', 'repository:web', 'repository:api'],
        repository: { branch: 'release', clean: true, base_clean: false, health: 'ok' },
      }),
      peer('trinity', {
        model: 'claude-opus-4',
        model_tier: 'opus',
        model_health: 'unreachable',
        ready: false,
        circuit: 'open',
        announced_at: before(210),
      }),
      peer('trader', {
        role: 'trader',
        model: 'none',
        model_tier: 'none',
        model_health: null,
        mcp: [],
        tools: [],
        repository: null,
        max_tasks: null,
        queued_tasks: null,
        queue_depth: null,
      }),
    ],
  };
}

const wave = (at: number, height: number, phase: number): number =>
  Math.max(0, Math.round(height * (1 + Math.sin(at / 3 + phase))));

function blocked(times: readonly string[]): BlockedDocument {
  const kinds = ['mcp', 'tier', 'budget'];
  const buckets = times.map((at, n) => ({
    at,
    ended: 60,
    blocked: Object.fromEntries(kinds.map((kind, k) => [kind, wave(n, 6 - 2 * k, k)])),
  }));
  return {
    bucket_s: STEP_S,
    buckets,
    ended: 1440,
    blocked: 231,
    tokens_saved: 2_841_000,
    reasons: [
      { kind: 'mcp', tasks: 144, tokens_saved: 1_800_000 },
      { kind: 'tier', tasks: 62, tokens_saved: 900_000 },
      { kind: 'budget', tasks: 25, tokens_saved: 141_000 },
    ],
    missing: [
      { kind: 'mcp', name: 'github', tasks: 118, alone: 97, tokens_saved: 1_500_000 },
      { kind: 'tier', name: 'opus', tasks: 62, alone: 41, tokens_saved: 900_000 },
      { kind: 'mcp', name: MARKUP, tasks: 26, alone: 20, tokens_saved: 300_000 },
    ],
  };
}

function spending(times: readonly string[]): SpendingDocument {
  const keys = ['morpheus', 'trinity', 'neo'];
  const usage = {
    input_tokens: 812_000,
    output_tokens: 143_000,
    cache_read_tokens: 390_000,
    cache_write_tokens: 22_000,
    reasoning_tokens: 61_000,
  };
  return {
    bucket_s: STEP_S,
    keys,
    buckets: times.map((at, n) => ({ at, tokens: keys.map((_, k) => wave(n, 40_000 / (k + 1), k)) })),
    totals: [
      { key: 'morpheus', tasks: 640, tokens: 955_000, usage, cost: 12.42, overruns: 3 },
      { key: 'trinity', tasks: 120, tokens: 481_000, usage, cost: 31.07, overruns: 1 },
      { key: 'neo', tasks: 449, tokens: 310_000, usage, cost: null, overruns: 0 },
    ],
    currency: 'EUR',
    unpriced: ['offline/runbook'],
    trees: [
      {
        profile: 'switch',
        id: idOf(1),
        task_id: 'refactor-auth-module',
        caller: 'operator',
        tokens: 64_200,
        budget_tokens: 60_000,
        cost: 1.92,
      },
      {
        profile: 'switch',
        id: idOf(2),
        task_id: MARKUP,
        caller: 'ci',
        tokens: 41_100,
        budget_tokens: null,
        cost: null,
      },
    ],
  };
}

function trader(times: readonly string[], before: Before): TraderDocument {
  const decision = (n: number, status: string, codes: readonly string[]) => ({
    at: before(30 + n * 400),
    decision_id: `decision-${n}`,
    concern_id: 'paper-1/BTC-USD',
    action: n % 2 === 0 ? 'switch_strategy' : 'pause',
    status,
    codes,
    caller: 'operator',
    audit_seq: 400 - n,
  });
  return {
    concerns: [
      {
        concern_id: 'paper-1/BTC-USD',
        strategy_id: 'grid_trader',
        run_state: 'running',
        risk_mode: 'normal',
        at: before(420),
      },
      {
        concern_id: MARKUP,
        strategy_id: null,
        run_state: 'paused',
        risk_mode: 'reduce_only',
        at: before(9000),
      },
    ],
    bucket_s: STEP_S,
    buckets: times.map((at, n) => ({ at, statuses: { applied: wave(n, 3, 0), rejected: wave(n, 2, 2) } })),
    refusals: [
      { code: 'STALE_STATE', count: 14 },
      { code: 'RISK_LIMIT', count: 5 },
    ],
    decisions: [
      decision(0, 'applied', []),
      decision(1, 'rejected', ['STALE_STATE']),
      decision(2, 'noop', []),
      decision(3, 'failed', ['ENGINE_FAILED']),
    ],
    audit: {
      seq: 400,
      hash: 'b5f1c0a2d4e69788aa01bb23cc45dd67',
      at: before(12),
      highest: 400,
      sound: true,
      reason: null,
    },
  };
}
