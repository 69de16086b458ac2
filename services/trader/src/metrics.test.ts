import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Concern, EngineView } from '@hermes-fleet/market';
import { createMetrics } from '@hermes-fleet/service';
import type { Registry } from 'prom-client';
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
  [(m) => m.decisions.decided('pause', 'applied'), 'decisions_total{action="pause",status="applied"}', 1],
  [(m) => m.decisions.decided('none', 'rejected'), 'decisions_total{action="none",status="rejected"}', 1],
  [(m) => m.decisions.rejected('stale_request'), 'rejections_total{code="stale_request"}', 1],
  [(m) => m.runtime.order(CONCERN.id, 's1', 'filled'), 'orders_total{strategy="Grid",kind="filled"}', 1],
  [(m) => m.runtime.order(CONCERN.id, 'gone', 'placed'), 'orders_total{strategy="other",kind="placed"}', 1],
  [
    (m) => m.breakerTripped(CONCERN.id, 'drawdown'),
    'breaker_trips_total{concern="acct:xrpusd",breaker="drawdown"}',
    1,
  ],
  [(m) => m.auditOk(false), 'audit_ok', 0],
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
  metrics.decisions.audited();
  metrics.runtime.changed(CONCERN.id);
  assert.deepEqual(await state(), {
    fleet_trader_audit_records_total: 9,
    fleet_trader_audit_ok: 1,
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

test('an unreadable store does not affect other metrics', async () => {
  const { registry, world, metrics } = traderMetrics();
  metrics.decisions.decided('resume', 'noop');
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
    Reflect.apply(metrics.decisions.decided, undefined, [word, word]);
    Reflect.apply(metrics.decisions.rejected, undefined, [word]);
    Reflect.apply(metrics.runtime.order, undefined, [word, `id${n}`, word]);
  }
  const after = Object.keys(await samples(registry)).length;
  assert.ok(after - before <= 2 + 201, `${after - before} more`);
  assert.ok(after < 1_100, `${after} series`);
});
