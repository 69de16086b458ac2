import {
  createMetrics,
  registerBuild,
  registerCertificates,
  registerCircuits,
  registerDisk,
} from '@hermes-fleet/service';
import type { Concern } from '../../../libs/trader/market/src/terms/concern.ts';
import { createConsoleMetrics } from '../../../services/console/src/metrics.ts';
import { createAnalysis } from '../../../services/trader/src/books/analysis.ts';
import { createBooksMetrics } from '../../../services/trader/src/books/metrics.ts';
import { createTraderMetrics } from '../../../services/trader/src/metrics.ts';

const CONCERN: Concern = {
  id: 'acct:xrpusd',
  accountId: 'acct',
  marketSymbol: 'xrpusd',
  activeStrategyId: 's1',
  runState: 'running',
  riskMode: 'normal',
  rev: 1,
};

/** A profile's metrics; `record` changes each of them. */
export function profileMetrics() {
  const metrics = createMetrics({ profile: 'neo', peers: ['switch'], callers: ['switch'], tiers: ['haiku'] });
  registerBuild(metrics.registry, { version: '1.0.0', revision: '1a2b3c4' });
  // Any file will do.
  registerDisk(metrics.registry, import.meta.filename);
  registerCertificates(metrics.registry, () => ({ server: { renewBy: 2e12, expiresAt: 2.1e12 } }));
  registerCircuits(metrics.registry, () => ({ switch: false }));
  metrics.dependencies({ ledger: true });
  metrics.taskTreeCeiling(1_000_000);
  metrics.spending('switch', { limit: 1000, spent: 0, reserved: 0 });
  for (const queue of ['own', 'waiting', 'input']) {
    metrics.queueDepth(queue, 0);
    metrics.queueOldestAge(queue, 0);
  }
  metrics.mcpServerUp('filesystem', true);
  metrics.modelHealthy('offline/runbook', true);
  const record = (): void => {
    metrics.count([
      { counter: 'tokens_spent', labels: ['switch', 'haiku', 'input'], by: 100 },
      { counter: 'tokens_spent', labels: ['switch', 'haiku', 'output'], by: 20 },
      { counter: 'tokens_saved', labels: [], by: 50 },
      { counter: 'admissions', labels: ['accepted', 'none'], by: 1 },
      { counter: 'admissions', labels: ['blocked', 'mcp'], by: 1 },
      { counter: 'peer_refusals', labels: ['mcp'], by: 1 },
      { counter: 'tasks', labels: ['haiku', 'done'], by: 1 },
    ]);
    metrics.tasksInFlight(1);
    metrics.taskTook('haiku', 'done', { run: 2, total: 3 });
    metrics.peerLastAnnounce('switch', Date.now() / 1000);
    metrics.outbox({ count: 1, oldestAgeS: 1, missing: 1 });
    metrics.count([{ counter: 'tokens_cached', labels: [], by: 5 }]);
    metrics.announce('switch', 'in', 'ok');
    metrics.spending('switch', { limit: 1000, spent: 100, reserved: 50 });
    metrics.dispatchOverhead(0.01);
    metrics.queueDepth('own', 1);
    metrics.queueOldestAge('own', 1);
    metrics.retry('send');
    metrics.reroute('neo', 'switch', 'mcp');
    metrics.budgetOverrun('exceeded');
    metrics.resumed();
    metrics.tokenDrift('haiku', 1);
    metrics.modelCall({ outcome: 'ok', seconds: 1, firstTokenSeconds: 0.5 });
    metrics.toolCall('read_file', false);
    metrics.guard('loop', 'warn');
    metrics.compaction('prune');
    metrics.mcpOperation('filesystem', 'ping', 'ok', 0.01);
    metrics.eventPublished('ok');
    metrics.pushAttempt('ok');
    metrics.httpRequest('GET', '/ready', 200, 0.001);
  };
  return { registry: metrics.registry, record };
}

/** The trader's metrics; `record` changes each of them. */
export function traderMetrics() {
  const { registry, outbox } = createMetrics({ profile: 'trader', peers: ['switch'], callers: ['switch'] });
  let seq = 3;
  const metrics = createTraderMetrics({
    registry,
    store: {
      head: () => ({ seq, hash: '' }),
      concern: () => CONCERN,
      decisionInForce: () => undefined,
      callerOfDecision: () => undefined,
    },
    runtime: {
      view: () => ({
        position: { quantity: '12.5', averagePrice: '2', unrealizedPnl: '0' },
        equity: { total: '1000.25', cash: '975.25', reserved: '0', realizedPnl: '0', feesPaid: '0' },
        openOrders: [],
        recentOrders: [],
        lastBar: { at: '2026-04-16T20:15:00.000Z', close: '2.1' },
        execution: {
          state: 'ok',
          reasons: [],
          bars: 0,
          fills: 0,
          rejects: 0,
          consecutiveErrors: 0,
          averageSlippageBps: null,
        },
      }),
      health: () => ({ degraded: false, reasons: [] }),
    },
    concerns: [CONCERN],
    strategies: [{ id: 's1', name: 'Grid' }],
  });
  const analysis = createAnalysis(5_000);
  for (const n of [2, 3]) for (const entry of booksOfBar(n)) analysis.add(entry);
  const keeper = { analysis: () => analysis, problem: () => undefined };
  createBooksMetrics({ registry, keeper, concerns: [CONCERN.id], nameOf: metrics.strategyName });
  const record = (): void => {
    seq += 1;
    for (const entry of booksOfBar(seq)) analysis.add(entry);
    metrics.breakerTripped(CONCERN.id, 'drawdown');
    metrics.decisions.decided('switch', 'applied');
    metrics.decisions.decided('pause', 'rejected');
    metrics.decisions.rejected('no_active_strategy');
    metrics.runtime.order(CONCERN.id, 's1', 'filled');
    outbox({ count: 0, oldestAgeS: 0 });
  };
  return { registry, record };
}

/** The entries of a bar with a purchase and a sale, after which all figures of the performance are defined. */
function booksOfBar(n: number) {
  const at = new Date(n * 5_000).toISOString();
  const common = { at, recorded_at: at, decision_id: null };
  const fill = (side: string, realized_pnl: string) => ({
    ...common,
    kind: 'order',
    event: 'filled',
    realized_pnl,
    order: { side, quantity: '1', fee: '0.01', strategy_id: 's1' },
  });
  const account = { cash: '100', position: '0', realized_pnl: '0', fees_paid: '0' };
  const entries = [
    ...(n === 2 ? [{ ...common, ...account, kind: 'account', event: 'opened', basis: '0' }] : []),
    fill('buy', '0'),
    fill('sell', n % 2 === 0 ? '3' : '-2'),
    {
      ...common,
      ...account,
      kind: 'bar',
      close: '1',
      strategy_id: 's1',
      equity: n % 2 === 0 ? '103' : '101',
    },
  ];
  return entries.map((entry, at) => ({ n: n * 10 + at, entry }));
}

/** The console's metrics; `record` changes each of them. */
export function consoleMetrics() {
  const figures = { connected: true, behind: 0, sessions: 1 };
  const { fleet, projected, skipped } = createConsoleMetrics(() => figures);
  const record = (): void => {
    projected('tasks', 10);
    skipped(1);
    figures.behind += 1;
  };
  return { registry: fleet.registry, record };
}
