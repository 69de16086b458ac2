import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { attemptsIn, brokenAt, readControlFile } from '../support/control-file.ts';
import { until } from '../support/fleet.ts';
import {
  CONCERN,
  decide,
  decideText,
  decision,
  GRID,
  type LoneTrader,
  startTrader,
  strategyOf,
  TREND,
} from '../support/lone-trader.ts';
import { post } from '../support/rpc.ts';

/** The source document's example (action contract v0.1, Request shape), at a time of ours. */
const example = (requestedAt: string): string => `{
  "decision_id": "dec_2026_04_16_001",
  "concern_id": "qndd8o9ppop6:xrpusd",
  "account_id": "qndd8o9ppop6",
  "market_symbol": "xrpusd",
  "action": "switch",
  "target_strategy_id": "0c555fee-e4c8-4543-ae70-c132517017e1",
  "expected_active_strategy_id": "9cf29124-65a7-4950-ac18-65f938e0239b",
  "risk_mode": "normal",
  "reason": "trend strategy still fits the directional narrative",
  "confidence": 0.83,
  "dry_run": false,
  "override": false,
  "requested_at": "${requestedAt}"
}`;

const auditOf = (trader: LoneTrader) => readControlFile(join(trader.stateDir, 'control.db'));

test("the source document's example is applied against the shipped configuration", async (t) => {
  const trader = await startTrader(t);
  const now = new Date().toISOString();
  const late = await decideText(trader, example('2026-04-16T20:15:00Z'));
  assert.equal(late.body.result.status, 'rejected');
  assert.deepEqual(
    late.body.result.errors.map(({ code }: { code: string }) => code),
    ['stale_request'],
  );
  const text = example(now).replace('dec_2026_04_16_001', 'dec_2026_04_16_002');
  const { status, body } = await decideText(trader, text);
  assert.equal(status, 200);
  const { result } = body;
  assert.deepEqual(
    [result.ok, result.status, result.decision_id, result.concern_id, result.action],
    [true, 'applied', 'dec_2026_04_16_002', CONCERN, 'switch'],
  );
  assert.deepEqual(
    [result.from_strategy_id, result.to_strategy_id, result.risk_mode],
    [GRID, TREND, 'normal'],
  );
  const {
    concern_match,
    account_match,
    market_match,
    expected_active_match,
    target_exists,
    target_runnable,
  } = result.validation;
  assert.deepEqual(
    { concern_match, account_match, market_match, expected_active_match, target_exists, target_runnable },
    {
      concern_match: true,
      account_match: true,
      market_match: true,
      expected_active_match: true,
      target_exists: true,
      target_runnable: true,
    },
  );
  assert.deepEqual([result.warnings, result.errors], [[], []]);
  assert.equal(result.result.mode_change, 'applied');
  assert.equal(result.result.reconciled, true);
  assert.match(result.applied_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const view = await strategyOf(trader, TREND);
  assert.equal(view.strategy.status, 'active');
});

test('a hundred copies at once are one applied and 99 noop; two rivals are one applied and one mismatch', async (t) => {
  const trader = await startTrader(t);
  const copy = JSON.stringify(decision({ expected_active_strategy_id: GRID }));
  const answers = await Promise.all(Array.from({ length: 100 }, () => decideText(trader, copy)));
  const statuses = answers.map(({ body }) => body.result.status);
  assert.equal(statuses.filter((status) => status === 'applied').length, 1);
  assert.equal(statuses.filter((status) => status === 'noop').length, 99);
  const copies = attemptsIn(auditOf(trader).audit).filter(({ record }) => record.text === copy);
  assert.equal(copies.length, 100);

  const to = (target: string) =>
    decide(trader, { action: 'switch', target_strategy_id: target, expected_active_strategy_id: GRID });
  const others = (await listed(trader)).filter((id) => id !== GRID);
  const rivals = await Promise.all(others.slice(0, 2).map(to));
  assert.deepEqual(rivals.map(({ status }) => status).sort(), ['applied', 'rejected']);
  const refused = rivals.find(({ status }) => status === 'rejected');
  assert.equal(refused.errors[0].code, 'expected_active_mismatch');
  assert.equal(brokenAt(auditOf(trader).audit), undefined);
});

const listed = async (trader: LoneTrader): Promise<string[]> => {
  const { body } = await post(trader, '{"jsonrpc":"2.0","id":1,"method":"list_strategies","params":{}}');
  return body.result.strategies.map(({ id }: { id: string }) => id);
};

test('whoever may not decide is refused, and what he tried is in the audit', async (t) => {
  const trader = await startTrader(t);
  const payload = JSON.stringify(decision());
  const nobody = await decideText({ url: trader.url, token: undefined }, payload);
  assert.equal(nobody.status, 401);
  for (const caller of ['reader', 'guest']) {
    const { status, body } = await decideText(trader.as(caller), payload);
    assert.equal(status, 403, caller);
    assert.equal(body.result.status, 'rejected');
    assert.equal(body.result.errors[0].code, 'forbidden');
  }
  const overridden = await decideText(trader.as('decider'), JSON.stringify(decision({ override: true })));
  assert.equal(overridden.body.result.errors[0].code, 'forbidden');
  const read = await post(
    trader.as('decider'),
    '{"jsonrpc":"2.0","id":1,"method":"list_strategies","params":{}}',
  );
  assert.equal(read.status, 403);
  const tried = attemptsIn(auditOf(trader).audit).map(({ record }) => [record.caller, record.status]);
  assert.deepEqual(tried, [
    ['reader', 'rejected'],
    ['guest', 'rejected'],
    ['decider', 'rejected'],
  ]);
});

test('too many attempts are 429, and a pause still gets through', async (t) => {
  const trader = await startTrader(t, {
    change: ({ rate }) => Object.assign(rate, { per_second: 0.1, burst: 5, kept_for_pause: 2 }),
  });
  const risk = () =>
    decideText(trader, JSON.stringify(decision({ action: 'set_risk_mode', risk_mode: 'normal' })));
  const statuses: number[] = [];
  for (let at = 0; at < 8; at += 1) statuses.push((await risk()).status);
  assert.ok(statuses.includes(200) && statuses.includes(429), statuses.join());
  const refused = await risk();
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal(refused.body.result.errors[0].code, 'rate_limited');
  assert.equal((await decide(trader)).status, 'applied');
  assert.equal(attemptsIn(auditOf(trader).audit).length, 10);
});

test('what is paused stays paused over a restart, whatever the file says', async (t) => {
  const trader = await startTrader(t);
  const switched = { action: 'switch', target_strategy_id: TREND, risk_mode: 'cautious' };
  assert.equal((await decide(trader, switched)).status, 'applied');
  assert.equal((await decide(trader)).status, 'applied');
  assert.equal(await trader.stop(), 0);
  await trader.start();
  const { control } = await strategyOf(trader, TREND);
  assert.deepEqual(
    [control.active_strategy_id, control.run_state, control.risk_mode],
    [TREND, 'paused', 'cautious'],
  );
  assert.equal((await decide(trader, { action: 'resume' })).status, 'applied');
});

/** Bars of a fifth of a second. */
// biome-ignore lint/suspicious/noExplicitAny: see LoneTraderOptions
const FAST = ({ concerns }: Record<string, any>): void => {
  for (const concern of concerns) concern.feed.interval_s = 0.2;
};

// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
async function viewWhen(trader: LoneTrader, id: string, holds: (view: any) => boolean): Promise<any> {
  // biome-ignore lint/suspicious/noExplicitAny: see RpcReply
  let view: any;
  await until(async () => {
    view = await strategyOf(trader, id);
    return holds(view);
  }, 'the engine to get there');
  return view;
}

/** Waits until so many bars have closed since now. */
// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
async function bars(trader: LoneTrader, id: string, count: number): Promise<any> {
  const { execution } = await strategyOf(trader, id);
  return viewWhen(trader, id, (view) => view.execution.bars >= execution.bars + count);
}

interface Order {
  readonly purpose: string;
  readonly quantity: string;
}
const entries = (view: { orders: { open: readonly Order[] } }): readonly Order[] =>
  view.orders.open.filter(({ purpose }) => purpose === 'entry');
/** Of the first order that is open. */
const sizeOf = (view: Parameters<typeof entries>[0]): number => Number(entries(view)[0]?.quantity);

test('every action has its effect in orders and position within two bars', async (t) => {
  const trader = await startTrader(t, { change: FAST });
  const active = await viewWhen(trader, GRID, (view) => entries(view).length > 0);
  const full = sizeOf(active);

  const paused = await decide(trader);
  assert.equal(paused.status, 'applied');
  assert.ok(paused.result.canceled_orders >= 1);
  assert.deepEqual(entries(await bars(trader, GRID, 2)), []);
  assert.equal((await decide(trader, { action: 'resume' })).status, 'applied');
  await viewWhen(trader, GRID, (view) => entries(view).length > 0);

  assert.equal((await decide(trader, { action: 'set_risk_mode', risk_mode: 'cautious' })).status, 'applied');
  const careful = await bars(trader, GRID, 2);
  assert.ok(entries(careful).length > 0 && sizeOf(careful) <= full * 0.51, `${sizeOf(careful)} of ${full}`);

  assert.equal(
    (await decide(trader, { action: 'set_risk_mode', risk_mode: 'reduce_only' })).status,
    'applied',
  );
  const reducing = await strategyOf(trader, GRID);
  const after = await bars(trader, GRID, 4);
  assert.deepEqual(entries(after), []);
  assert.ok(Number(after.position.quantity) <= Number(reducing.position.quantity));

  assert.equal((await decide(trader, { action: 'set_risk_mode', risk_mode: 'halted' })).status, 'applied');
  const halted = await bars(trader, GRID, 2);
  assert.deepEqual(halted.orders.open, []);

  const handedOver = await decide(trader, {
    action: 'switch',
    target_strategy_id: TREND,
    risk_mode: 'normal',
    expected_active_strategy_id: GRID,
  });
  assert.equal(handedOver.status, 'applied');
  assert.equal(Number(handedOver.result.inherited_position), Number(halted.position.quantity));
  await bars(trader, TREND, 2);
  assert.deepEqual((await strategyOf(trader, GRID)).orders.open, []);
  assert.equal((await strategyOf(trader, TREND)).strategy.status, 'active');
});

test('a decision keeps its id: another payload under it is refused, with override too', async (t) => {
  const trader = await startTrader(t);
  const id = randomUUID();
  assert.equal((await decide(trader, { decision_id: id })).status, 'applied');
  for (const override of [false, true]) {
    const other = await decide(trader, { decision_id: id, action: 'resume', override });
    assert.deepEqual([other.status, other.errors[0].code], ['rejected', 'decision_id_conflict']);
  }
});
