import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { controlSchemas } from './json-schema.ts';
import {
  encodeStrategyDetail,
  encodeStrategyList,
  type StrategyDetail,
  StrategyDetailWire,
  StrategyListWire,
} from './reads.ts';

const STRATEGY: StrategyDetail['strategy'] = {
  id: 's1',
  name: 'Grid',
  kind: 'grid_trader',
  accountId: 'acc',
  marketSymbol: 'xrpusd',
  status: 'active',
  params: { grid_levels: 5, spacing: { stepBps: '10' } },
};

const DETAIL: StrategyDetail = {
  strategy: STRATEGY,
  control: {
    concernId: 'acc:xrpusd',
    activeStrategyId: 's1',
    runState: 'running',
    riskMode: 'normal',
    execution: 'ok',
    rev: 3,
  },
  position: { quantity: '12.5', averagePrice: null, unrealizedPnl: '0' },
  equity: { total: '1000', cash: '990', reserved: '5', realizedPnl: '0', feesPaid: '0.02' },
  performance: {
    strategy: {
      return: 0.01,
      maxDrawdown: 0.02,
      realizedProfit: '12.5',
      fees: '0.02',
      fills: 3,
      winRate: null,
    },
    account: { return: 0.01, drawdown: 0, maxDrawdown: 0.02 },
  },
  orders: {
    open: [
      {
        id: 'o1',
        side: 'buy',
        kind: 'limit',
        purpose: 'entry',
        quantity: '1',
        limitPrice: '0.5',
        state: 'open',
        placedAt: '2026-04-16T20:15:00.000Z',
      },
    ],
    recent: [],
  },
  execution: {
    state: 'ok',
    reasons: [],
    bars: 7,
    fills: 1,
    rejects: 0,
    consecutiveErrors: 0,
    averageSlippageBps: null,
    lastBar: { at: '2026-04-16T20:15:00.000Z', close: '0.52' },
  },
  lastDecisions: [
    {
      decisionId: 'd1',
      caller: 'switch',
      action: 'switch',
      status: 'applied',
      fromStrategyId: null,
      toStrategyId: 's1',
      riskMode: 'normal',
      warnings: ['unguarded_transition'],
      errors: [],
      decidedAt: '2026-04-16T20:15:00.000Z',
    },
  ],
};

test('responses are snake_case on the wire, except the parameters of a strategy', () => {
  const detail = encodeStrategyDetail(DETAIL);
  const read = StrategyDetailWire.parse(detail);
  assert.deepEqual(read.strategy.params, STRATEGY.params);
  assert.equal(read.orders.open[0]?.limit_price, '0.5');
  assert.equal(read.last_decisions[0]?.to_strategy_id, 's1');
  assert.equal(read.execution?.consecutive_errors, 0);
  const list = StrategyListWire.parse(encodeStrategyList({ strategies: [STRATEGY] }));
  assert.equal(list.strategies[0]?.market_symbol, 'xrpusd');
});

test('responses are strict, in code and as JSON Schema', () => {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  const schemas = controlSchemas();
  const isDetail = ajv.compile(schemas['strategy-detail']);
  const good = encodeStrategyDetail(DETAIL);
  const bare = { ...good, position: null, equity: null, performance: null, execution: null };
  const idle = { ...good, performance: { ...Object(good['performance']), strategy: null } };
  for (const value of [good, bare, idle]) {
    assert.ok(isDetail(value), JSON.stringify(isDetail.errors));
    StrategyDetailWire.parse(value);
  }
  const bad = [
    { ...good, extra: 1 },
    { ...good, orders: undefined },
    { ...good, performance: undefined },
    { ...good, performance: { strategy: null } },
    { ...good, position: { quantity: 12.5, average_price: null, unrealized_pnl: '0' } },
    { ...good, last_decisions: Array(11).fill(DETAIL.lastDecisions[0]) },
  ];
  for (const value of bad) {
    assert.equal(isDetail(value), false);
    assert.equal(StrategyDetailWire.safeParse(value).success, false);
  }
});

test('every schema of the contract compiles and has its own id, and a decision has every field', () => {
  const ajv = new Ajv2020({ strict: true, validateFormats: false });
  const schemas = controlSchemas();
  for (const [name, schema] of Object.entries(schemas)) {
    ajv.compile(schema);
    assert.equal(schema['$id'], `urn:hermes-fleet:control:0.1:${name}`);
  }
  const text = JSON.stringify(schemas['control-decision']);
  for (const field of ['decision_id', 'expected_active_strategy_id', 'override'])
    assert.ok(text.includes(field));
  assert.equal(schemas['control-decision']['additionalProperties'], false);
});
