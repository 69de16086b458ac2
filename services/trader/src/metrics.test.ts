import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Concern, EngineView } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import { createMetrics } from '@hermes-fleet/service';
import type { Registry } from 'prom-client';
import { createAnalysis } from './books/analysis.ts';
import { createTraderMetrics, type TraderMetrics, type TraderMetricsOptions } from './metrics.ts';

const CONCERN: Concern = {
  id: 'acct:xrpusd',
  accountId: 'acct',
  marketSymbol: 'xrpusd',
  activeStrategyId: 's1',
  runState: 'running',
  riskMode: 'normal',
  rev: 1,
};
const VIEW: EngineView = {
  position: { quantity: '12.5', averagePrice: '2', unrealizedPnl: '0' },
  equity: { total: '1000.25', cash: '975.25', reserved: '0', realizedPnl: '0', feesPaid: '0' },
  openOrders: [],
  recentOrders: [],
  lastBar: null,
  execution: {
    state: 'ok',
    reasons: [],
    bars: 0,
    fills: 0,
    rejects: 0,
    consecutiveErrors: 0,
    averageSlippageBps: null,
  },
};

/** An account of 100 that buys, sells with a profit of 3, and has a bar. */
const ENTRIES: readonly JsonObject[] = [
  { kind: 'account', event: 'opened', basis: '0' },
  ...['buy', 'sell'].map((side) => ({
    kind: 'order',
    event: 'filled',
    realized_pnl: side === 'sell' ? '3' : '0',
    order: { side, quantity: '1', fee: '0.01', strategy_id: 's1' },
  })),
  { kind: 'bar', close: '1', strategy_id: 's1', equity: '103' },
];
const BOOKS = ENTRIES.map((entry, n) => {
  const at = '2026-04-16T20:15:00.000Z';
  const account = { cash: '100', position: '0', realized_pnl: '0', fees_paid: '0' };
  return { n, entry: { at, recorded_at: at, decision_id: null, ...account, ...entry } };
});

/** The current state that the metrics read. */
interface World {
  concern: Concern | undefined;
  view: EngineView | undefined;
  degraded: boolean;
  seq: number;
  fails: boolean;
  decision: string | undefined;
}

function traderMetrics(o: Partial<TraderMetricsOptions> = {}) {
  const { registry } = createMetrics({ profile: 'trader', peers: [], callers: [], defaultMetrics: false });
  const world: World = {
    concern: CONCERN,
    view: VIEW,
    degraded: false,
    seq: 7,
    fails: false,
    decision: undefined,
  };
  const look = <T>(value: T): T => {
    if (world.fails) throw new Error('the store is closed');
    return value;
  };
  const metrics: TraderMetrics = createTraderMetrics({
    registry,
    store: {
      head: () => look({ seq: world.seq, hash: '' }),
      concern: (id) => look(id === CONCERN.id ? world.concern : undefined),
      decisionInForce: () => look(world.decision),
      callerOfDecision: (id) => look(id === 'of-a-breaker' ? 'breaker' : 'operator'),
    },
    runtime: {
      view: () => look(world.view),
      health: () => look({ degraded: world.degraded, reasons: [] }),
    },
    keeper: { analysis: () => assert.fail('the books are being read') },
    concerns: [CONCERN],
    strategies: [
      { id: 's1', name: 'Grid' },
      { id: 's2', name: 'Trend' },
    ],
    ...o,
  });
  return { registry, metrics, world };
}

async function samples(registry: Registry): Promise<Record<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('fleet_trader_'));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

test('known label sets start at 0', async () => {
  const found = await samples(traderMetrics().registry);
  for (const name of [
    'fleet_trader_decisions_total{action="switch",status="applied"}',
    'fleet_trader_decisions_total{action="pause",status="noop"}',
    'fleet_trader_decisions_total{action="none",status="rejected"}',
    'fleet_trader_decisions_total{action="set_risk_mode",status="failed"}',
    'fleet_trader_rejections_total{code="expected_active_mismatch"}',
    'fleet_trader_rejections_total{code="store_unavailable"}',
    'fleet_trader_orders_total{strategy="Grid",kind="placed"}',
    'fleet_trader_orders_total{strategy="Trend",kind="rejected"}',
    'fleet_trader_execution_degraded{concern="acct:xrpusd"}',
    'fleet_trader_risk_mode{concern="acct:xrpusd",mode="halted"}',
    'fleet_trader_run_state{concern="acct:xrpusd",state="paused"}',
  ])
    assert.equal(found[name], 0, name);
});

const RECORDED: [record: (metrics: TraderMetrics) => void, name: string, value: number][] = [
  [(m) => m.watcher.order(CONCERN.id, 's1', 'filled'), 'orders_total{strategy="Grid",kind="filled"}', 1],
  [(m) => m.watcher.order(CONCERN.id, 'gone', 'placed'), 'orders_total{strategy="other",kind="placed"}', 1],
];

test('every recorder moves the series that it names, and no other', async () => {
  for (const [record, name, value] of RECORDED) {
    const { registry, metrics } = traderMetrics();
    const before = await samples(registry);
    record(metrics);
    assert.deepEqual(await samples(registry), { ...before, [`fleet_trader_${name}`]: value });
  }
});

test('state metrics read the store and the runtime at each scrape', async () => {
  const { registry, world, metrics } = traderMetrics();
  const state = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      Object.entries(await samples(registry)).filter(
        ([name]) => !/decisions|rejections|orders|trips/.test(name),
      ),
    );
  const of = (more: string): string => `{concern="acct:xrpusd"${more}}`;
  assert.deepEqual(await state(), {
    fleet_trader_audit_records_total: 7,
    fleet_trader_audit_ok: 1,
    [`fleet_trader_position${of('')}`]: 12.5,
    [`fleet_trader_equity${of('')}`]: 1000.25,
    [`fleet_trader_risk_mode${of(',mode="normal"')}`]: 1,
    [`fleet_trader_risk_mode${of(',mode="cautious"')}`]: 0,
    [`fleet_trader_risk_mode${of(',mode="reduce_only"')}`]: 0,
    [`fleet_trader_risk_mode${of(',mode="halted"')}`]: 0,
    [`fleet_trader_run_state${of(',state="running"')}`]: 1,
    [`fleet_trader_run_state${of(',state="paused"')}`]: 0,
    [`fleet_trader_breaker_tripped${of('')}`]: 0,
    [`fleet_trader_execution_degraded${of('')}`]: 0,
  });
  world.concern = { ...CONCERN, riskMode: 'halted', runState: 'paused' };
  world.degraded = true;
  world.seq = 9;
  world.decision = 'of-a-breaker';
  world.view = undefined;
  metrics.set('fleet_trader_audit_ok', {}, false);
  assert.deepEqual(await state(), {
    fleet_trader_audit_records_total: 9,
    fleet_trader_audit_ok: 0,
    [`fleet_trader_risk_mode${of(',mode="normal"')}`]: 0,
    [`fleet_trader_risk_mode${of(',mode="cautious"')}`]: 0,
    [`fleet_trader_risk_mode${of(',mode="reduce_only"')}`]: 0,
    [`fleet_trader_risk_mode${of(',mode="halted"')}`]: 1,
    [`fleet_trader_run_state${of(',state="running"')}`]: 0,
    [`fleet_trader_run_state${of(',state="paused"')}`]: 1,
    [`fleet_trader_breaker_tripped${of('')}`]: 1,
    [`fleet_trader_execution_degraded${of('')}`]: 1,
  });
});

test('the performance of concerns and strategies is read from the books, and is omitted until they are read', async () => {
  const figures = async (o?: Pick<TraderMetricsOptions, 'keeper'>) =>
    Object.fromEntries(
      Object.entries(await samples(traderMetrics(o).registry)).filter(([name]) =>
        /_(return|drawdown|win_rate|fees|realized_profit|strategy_profit)\{/.test(name),
      ),
    );
  const of = '{concern="acct:xrpusd"}';
  const ofGrid = '{concern="acct:xrpusd",strategy="Grid"}';
  assert.deepEqual(await figures(), {});
  const analysis = createAnalysis(5_000);
  for (const entry of BOOKS) analysis.add(entry);
  assert.deepEqual(await figures({ keeper: { analysis: () => analysis } }), {
    [`fleet_trader_return${of}`]: 0.03,
    [`fleet_trader_drawdown${of}`]: 0,
    [`fleet_trader_max_drawdown${of}`]: 0,
    [`fleet_trader_win_rate${of}`]: 1,
    [`fleet_trader_realized_profit${of}`]: 3,
    [`fleet_trader_fees${of}`]: 0.02,
    [`fleet_trader_strategy_profit${ofGrid}`]: 3,
    [`fleet_trader_strategy_return${ofGrid}`]: 0.03,
    [`fleet_trader_strategy_max_drawdown${ofGrid}`]: 0,
  });
});

test('an unreadable store does not affect other metrics', async () => {
  const { registry, world, metrics } = traderMetrics();
  metrics.add('fleet_trader_decisions_total', { action: 'resume', status: 'noop' });
  world.fails = true;
  const found = await samples(registry);
  assert.equal(found['fleet_trader_decisions_total{action="resume",status="noop"}'], 1);
  assert.ok(
    !Object.keys(found).some((name) =>
      /^fleet_trader_(position|equity|risk_mode|run_state|execution)/.test(name),
    ),
  );
  world.view = { ...VIEW, position: { ...VIEW.position, quantity: 'NaN' } };
  world.fails = false;
  const names = Object.keys(await samples(registry));
  assert.ok(
    names.some((name) => name.includes('equity')) && !names.some((name) => name.includes('position')),
  );
});

test('unknown labels create no series, and the series of strategies are bounded', async () => {
  const strategies = Array.from({ length: 1_000 }, (_, n) => ({ id: `id${n}`, name: `n${n}` }));
  const { registry, metrics } = traderMetrics({ strategies });
  const before = Object.keys(await samples(registry)).length;
  for (let n = 0; n < 1_000; n += 1) {
    const word: string = `w${n}`;
    // Values that the types forbid may still occur by mistake.
    Reflect.apply(metrics.watcher.order, undefined, [word, `id${n}`, word]);
  }
  const after = Object.keys(await samples(registry)).length;
  assert.ok(after - before <= 201, `${after - before} more`);
  assert.ok(after < 1_100, `${after} series`);
});
