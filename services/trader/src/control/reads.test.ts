import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineView, OrderView } from '@hermes-fleet/market';
import { type ErrorCode, FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { StrategyDetailWire, StrategyListWire } from '@hermes-fleet/protocol/control';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { deadline } from '@hermes-fleet/protocol/testing';
import { CONCERN, to } from '../../testing/control/decisions.ts';
import {
  NOBODY,
  OPERATOR,
  openDecisionService,
  STRANGER,
  SWITCH,
  type TestDecisionService,
} from '../../testing/control/harness.ts';

const listed = (test: TestDecisionService, caller: Caller, filter = ''): string[] =>
  StrategyListWire.parse(test.decisions.list(caller, filter)).strategies.map(
    ({ id, status }) => `${id} ${status}`,
  );

const get = (test: TestDecisionService, id: string, caller = OPERATOR): JsonObject => {
  const detail = test.decisions.get(caller, JSON.stringify({ strategy_id: id }));
  StrategyDetailWire.parse(detail);
  return detail;
};

const part = (detail: JsonObject, name: string): JsonObject => {
  const value = detail[name];
  assert.ok(isJsonObject(value), name);
  return value;
};

const throws = (code: ErrorCode, run: () => unknown): void =>
  assert.throws(run, (error) => error instanceof FleetError && error.code === code);

const order = (strategyId: string, id: string, o: Partial<OrderView> = {}): OrderView => ({
  id,
  strategyId,
  side: 'buy',
  kind: 'limit',
  purpose: 'entry',
  quantity: '10',
  limitPrice: '0.5',
  state: 'open',
  placedAt: '2026-04-16T20:14:00.000Z',
  ...o,
});

const VIEW: EngineView = {
  position: { quantity: '12.5', averagePrice: '0.51', unrealizedPnl: '-0.1' },
  equity: { total: '1000', cash: '990', reserved: '5', realizedPnl: '0', feesPaid: '0.02' },
  openOrders: [order('trend', 'o1'), order('grid', 'o2')],
  recentOrders: [
    order('grid', 'o3', { state: 'canceled', reason: 'switched', endedAt: '2026-04-16T20:15:00.000Z' }),
    order('trend', 'o4', { kind: 'market', state: 'filled', fillPrice: '0.5', fee: '0.01' }),
  ],
  lastBar: { at: '2026-04-16T20:15:00.000Z', close: '0.52' },
  execution: {
    state: 'ok',
    reasons: [],
    bars: 7,
    fills: 1,
    rejects: 0,
    consecutiveErrors: 0,
    averageSlippageBps: '1.5',
  },
};

test('a caller sees the strategies of its accounts and may filter them', deadline, async (t) => {
  const test = await openDecisionService(t);
  const own = ['broken faulted', 'foreign active', 'grid standby', 'off disabled', 'trend active'];
  assert.deepEqual(listed(test, SWITCH).sort(), own);
  assert.deepEqual(listed(test, STRANGER), ['others active']);
  assert.deepEqual(listed(test, OPERATOR).sort(), [...own, 'others active'].sort());
  assert.deepEqual(listed(test, SWITCH, '{"status":"active","market_symbol":"xrpusd"}'), ['trend active']);
  assert.deepEqual(listed(test, OPERATOR, '{"account_id":"other"}'), ['others active']);
  assert.deepEqual(listed(test, OPERATOR, ' {"market_symbol":"nowhere"} '), []);
  await test.ask(to('grid'));
  assert.deepEqual(listed(test, SWITCH, '{"status":"active"}').sort(), ['foreign active', 'grid active']);
});

test('nothing is readable without the scope or of an account of another caller', deadline, async (t) => {
  const test = await openDecisionService(t);
  throws('FORBIDDEN', () => test.decisions.list(NOBODY, ''));
  throws('FORBIDDEN', () => test.decisions.get(NOBODY, '{"strategy_id":"trend"}'));
  throws('FORBIDDEN', () => test.decisions.list(SWITCH, '{"account_id":"other"}'));
  throws('INVALID_PARAMS', () => get(test, 'others', SWITCH));
  throws('INVALID_PARAMS', () => get(test, 'nobody'));
});

test('parameters are strict', deadline, async (t) => {
  const test = await openDecisionService(t);
  for (const text of [
    '[]',
    'null',
    '{"status":"enabled"}',
    '{"acount_id":"acc"}',
    '{"account_id":1}',
    '{',
    '{"__proto__":{}}',
  ])
    throws('INVALID_PARAMS', () => test.decisions.list(OPERATOR, text));
  for (const text of ['', '{}', '{"strategy_id":""}', '{"strategy_id":7}', '{"strategy_id":"trend","x":1}'])
    throws('INVALID_PARAMS', () => test.decisions.get(OPERATOR, text));
});

test(
  'a strategy is returned with its concern, its own orders and the last decisions',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    test.runtime.views.set(CONCERN.id, VIEW);
    for (let count = 0; count < 12; count += 1)
      await test.ask({ action: 'set_risk_mode', riskMode: count % 2 ? 'normal' : 'cautious' });
    await test.ask({ reason: 'a secret reason', expectedActiveStrategyId: null });
    const detail = get(test, 'trend');
    assert.deepEqual(part(detail, 'strategy')['status'], 'active');
    assert.deepEqual(detail['control'], {
      concern_id: 'acc:xrpusd',
      active_strategy_id: 'trend',
      run_state: 'running',
      risk_mode: 'normal',
      execution: 'ok',
      rev: 12,
    });
    assert.deepEqual(detail['position'], { quantity: '12.5', average_price: '0.51', unrealized_pnl: '-0.1' });
    assert.equal(part(detail, 'equity')['fees_paid'], '0.02');
    const ids = (name: string, of: JsonObject): string =>
      JSON.stringify(part(of, 'orders')[name]).match(/"o\d"/g)?.join() ?? '';
    assert.deepEqual([ids('open', detail), ids('recent', detail)], ['"o1"', '"o4"']);
    const grid = get(test, 'grid');
    assert.deepEqual(
      [ids('open', grid), ids('recent', grid), part(grid, 'strategy')['status']],
      ['"o2"', '"o3"', 'standby'],
    );
    assert.deepEqual(part(detail, 'execution')['last_bar'], {
      at: '2026-04-16T20:15:00.000Z',
      close: '0.52',
    });

    const { last_decisions: decisions } = StrategyDetailWire.parse(detail);
    assert.equal(decisions.length, 10);
    assert.deepEqual(
      [decisions[0]?.status, decisions[0]?.errors],
      ['rejected', ['expected_active_mismatch']],
    );
    assert.deepEqual(
      [decisions[1]?.status, decisions[1]?.risk_mode, decisions[1]?.caller],
      ['applied', 'normal', 'operator'],
    );
    assert.ok(!JSON.stringify(detail).includes('secret'));
  },
);

test('a strategy has what the books say of it, and null until they are read', deadline, async (t) => {
  const account = { return: 0.02, drawdown: 0.01, maxDrawdown: 0.03 };
  const own = { return: 0.05, maxDrawdown: 0.01, realizedProfit: '7', fees: '0.2', fills: 4, winRate: 0.5 };
  let isRead = false;
  const test = await openDecisionService(t, {
    performanceOf: (concernId, strategyId) =>
      isRead && concernId === CONCERN.id
        ? { strategy: strategyId === 'trend' ? own : null, account }
        : undefined,
  });
  assert.equal(get(test, 'trend')['performance'], null);
  isRead = true;
  assert.deepEqual(part(get(test, 'trend'), 'performance'), {
    strategy: {
      return: 0.05,
      max_drawdown: 0.01,
      realized_profit: '7',
      fees: '0.2',
      fills: 4,
      win_rate: 0.5,
    },
    account: { return: 0.02, drawdown: 0.01, max_drawdown: 0.03 },
  });
  assert.equal(part(get(test, 'grid'), 'performance')['strategy'], null);
});

test('degraded, outdated and missing engines are reported', deadline, async (t) => {
  const test = await openDecisionService(t);
  const bare = get(test, 'grid');
  assert.deepEqual([bare['position'], bare['equity'], bare['execution']], [null, null, null]);
  test.runtime.views.set(CONCERN.id, VIEW);
  test.runtime.degraded.add(CONCERN.id);
  assert.equal(part(get(test, 'grid'), 'control')['execution'], 'degraded');
  assert.deepEqual(part(get(test, 'grid'), 'execution')['reasons'], ['no bar for 30 s']);
  test.runtime.degraded.clear();
  test.runtime.fate.push('fails', 'fails', 'fails');
  await test.ask(to('grid'));
  await test.pass(0);
  const behind = part(get(test, 'grid'), 'execution');
  assert.deepEqual(
    [behind['state'], behind['reasons']],
    ['degraded', ['the runtime differs from the control state']],
  );
});

test(
  'a decision of a stranger is neither listed under the concern nor published on its subject',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    await test.ask({});
    const foreign = { concernId: CONCERN.id, accountId: 'other' };
    assert.equal(await test.ask(foreign, { caller: STRANGER }), 'rejected unknown_concern');
    assert.equal(
      await test.ask({ ...foreign, dryRun: true }, { caller: STRANGER }),
      'rejected unknown_concern',
    );
    assert.equal(test.store.decisions(CONCERN.id, 10).length, 1);
    const decisions = get(test, 'trend')['last_decisions'];
    assert.ok(Array.isArray(decisions));
    assert.equal(decisions.length, 1);
    assert.deepEqual(
      test.store.outbox.read(0, 10).map(({ subject }) => subject),
      ['fleet.control.acc.xrpusd', 'fleet.control.unknown.unknown', 'fleet.control.unknown.unknown'],
    );
  },
);
