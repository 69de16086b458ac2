import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { RiskMode } from '@hermes-fleet/protocol/control';
import type { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { accountOf } from '../../testing/account-of.ts';
import { bar, counting, market, type Rig, rig, scripted } from '../../testing/rig.ts';
import type { OrderView } from '../terms/books.ts';
import { money, smaller, sum, text, ZERO } from '../terms/money.ts';
import type { EngineView } from '../terms/runtime-port.ts';
import type { Bar, Intent, StrategyView } from '../terms/strategy.ts';
import type { Desired } from './reconcile-orders.ts';

/** Awkward steps, which exercise rounding. */
const MARKET = market({
  balances: { quote: '700', base: '3' },
  fees_bps: '33.3',
  slippage_bps: '17',
  limits: { max_order: '5', max_position: '9', max_open_orders: 3, min_order: '0.5' },
  steps: { price: '0.03', quantity: '0.07' },
});

/** An intent: an order, or the cancellation of the n-th open order. */
type Want = Omit<Extract<Intent, { type: 'order' }>, 'type'> | { readonly nth: number };
type Step =
  | {
      readonly type: 'bar';
      readonly bar: Omit<Bar, 'at'>;
      readonly wants: readonly Want[];
      readonly throws: boolean;
    }
  | ({ readonly type: 'configure'; readonly id: 'a' | 'b' | undefined } & Pick<
      Desired,
      'runState' | 'riskMode'
    >)
  | { readonly type: 'restart' };

const cents = (least: number, most: number) =>
  fc.integer({ min: least * 100, max: most * 100 }).map((n) => money(String(n)).div(money('100')));

const want: fc.Arbitrary<Want> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        side: fc.constantFrom('buy', 'sell'),
        kind: fc.constantFrom('market', 'limit'),
        isMisnamed: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
        quantity: cents(1, 8).map((q) => q.div(money('3'))),
        price: cents(60, 140),
      })
      .map(({ side, kind, isMisnamed, quantity, price }) => ({
        side,
        kind,
        quantity,
        purpose: (side === 'buy') === isMisnamed ? ('exit' as const) : ('entry' as const),
        ...(kind === 'limit' ? { limitPrice: price } : {}),
      })),
  },
  { weight: 1, arbitrary: fc.record({ nth: fc.nat(5) }) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        prices: fc.tuple(cents(60, 140), cents(60, 140), cents(60, 140), cents(60, 140)),
        wants: fc.array(want, { maxLength: 4 }),
        throws: fc.integer({ min: 0, max: 14 }).map((n) => n === 0),
      })
      .map(({ prices, wants, throws }) => {
        const [low, open, close, high] = prices.toSorted((a, b) => a.cmp(b));
        assert.ok(low && open && close && high);
        const [first, last] = prices.indexOf(open) < prices.indexOf(close) ? [open, close] : [close, open];
        return {
          type: 'bar' as const,
          wants,
          throws,
          bar: { open: first, high, low, close: last, volume: ZERO },
        };
      }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('configure' as const),
      id: fc.constantFrom('a' as const, 'a' as const, 'b' as const, undefined),
      runState: fc.constantFrom('running' as const, 'running' as const, 'paused' as const),
      riskMode: fc.constantFrom('normal' as const, ...RiskMode.options),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'restart' as const }) },
);

/** An engine, its ids and its strategy's next intents. */
interface Subject {
  readonly rig: Rig;
  readonly ids: ReturnType<typeof counting>;
  readonly script: { wants: readonly Want[]; throws: boolean };
}

function subject(from?: Subject): Subject {
  const ids = counting(from?.ids.next());
  const script = { wants: [], throws: false };
  if (from === undefined) return { rig: rig({ market: MARKET, ids }), ids, script };
  const snapshot: unknown = JSON.parse(JSON.stringify(from.rig.engine.snapshot()));
  assert.ok(isJsonObject(snapshot));
  return { rig: rig({ market: MARKET, ids, snapshot }), ids, script };
}

function wanted(script: Subject['script'], { openOrders }: StrategyView): Intent[] {
  if (script.throws) throw new Error('out of ideas');
  return script.wants.flatMap((each): Intent[] => {
    if (!('nth' in each)) return [{ type: 'order', ...each }];
    const order = openOrders[each.nth];
    return order === undefined ? [] : [{ type: 'cancel', orderId: order.id }];
  });
}

type Configured = Omit<Extract<Step, { type: 'configure' }>, 'type'>;

function configure({ rig: { engine }, script }: Subject, { id, runState, riskMode }: Configured) {
  const trading = scripted((view) => wanted(script, view));
  return engine.configure({
    runState,
    riskMode,
    strategy: id === undefined ? undefined : { id, trading },
  });
}

const cashOf = ({ equity }: EngineView | ReturnType<Rig['engine']['view']>): Decimal =>
  money(equity.cash).plus(money(equity.reserved));
const held = ({ position }: Pick<EngineView, 'position'>): Decimal => money(position.quantity);
const openOf = (view: Pick<EngineView, 'openOrders'>, side: OrderView['side']): OrderView[] =>
  view.openOrders.filter((order) => order.side === side);
const total = (orders: readonly OrderView[]): Decimal => sum(orders.map(({ quantity }) => money(quantity)));
const atMost = (a: Decimal, b: Decimal): void => assert.ok(a.lte(b), `${a} is above ${b}`);

/** Invariants that hold at all times. */
function checkState({ rig: { engine } }: Subject, { id, runState, riskMode }: Configured): void {
  const view = engine.view();
  const { cash, reserved, total: equity, realizedPnl, feesPaid } = view.equity;
  for (const amount of [cash, reserved, view.position.quantity]) atMost(ZERO, money(amount));
  const [buys, sales] = [openOf(view, 'buy'), openOf(view, 'sell')];
  atMost(total(sales), held(view));
  atMost(held(view).plus(total(buys)), MARKET.limits.maxPosition);
  for (const orders of [buys, sales]) assert.ok(orders.length <= MARKET.limits.maxOpenOrders);
  for (const { side, quantity, limitPrice } of view.openOrders) {
    if (side === 'buy') atMost(money(quantity), MARKET.limits.maxOrder);
    assert.ok(money(quantity).mod(MARKET.steps.quantity).isZero());
    if (limitPrice !== undefined) assert.ok(money(limitPrice).mod(MARKET.steps.price).isZero());
  }
  if (buys.every(({ kind }) => kind === 'limit')) {
    const worth = buys.map(({ quantity, limitPrice }) => money(quantity).times(money(limitPrice ?? 'NaN')));
    assert.equal(reserved, text(sum(worth).times(money('1.00333'))));
  }
  if (id === undefined || riskMode === 'halted') assert.deepEqual(view.openOrders, []);
  if (riskMode === 'reduce_only' || runState === 'paused') assert.deepEqual(buys, []);
  assert.ok(view.openOrders.every(({ strategyId }) => strategyId === id));
  assert.ok(view.recentOrders.length <= 20);
  if (view.lastBar === null) return;
  assert.equal(text(cashOf(view).plus(held(view).times(money(view.lastBar.close)))), equity);
  const first = money('700').plus(money('3').times(firstOpen ?? ZERO));
  const gained = money(realizedPnl).plus(money(view.position.unrealizedPnl)).minus(money(feesPaid));
  assert.equal(text(first.plus(gained)), equity);
}

let firstOpen: Decimal | undefined;

/** Recomputes the effect of a bar from the orders that it filled. */
function checkBar(
  before: ReturnType<Rig['engine']['view']>,
  after: typeof before,
  made: Bar,
  how: Configured,
): void {
  const at = new Date(made.at).toISOString();
  const fills = after.recentOrders.filter(({ state, endedAt }) => state === 'filled' && endedAt === at);
  assert.equal(after.execution.fills - before.execution.fills, fills.length);
  let [cash, position, worth, fees] = [cashOf(before), held(before), ZERO, ZERO];
  for (const { side, quantity: q, fillPrice, fee, placedAt, kind, limitPrice } of fills) {
    const [quantity, price] = [money(q), money(fillPrice ?? 'NaN')];
    const sign = money(side === 'buy' ? '1' : '-1');
    assert.ok(placedAt < at, 'it fills on a later bar than the one it was made in');
    assert.equal(fee, text(quantity.times(price).times(money('0.00333'))));
    cash = cash.minus(sign.times(quantity).times(price)).minus(money(fee ?? 'NaN'));
    position = position.plus(sign.times(quantity));
    worth = worth.plus(sign.times(quantity).times(made.close.minus(price)));
    fees = fees.plus(money(fee ?? 'NaN'));
    // The fill price is bounded by the open, the limit and the price step, always against the order.
    const [limit, open] = [sign.times(money(limitPrice ?? '0')), sign.times(made.open)];
    if (kind === 'market') atMost(open.plus(made.open.times(money('0.0017'))), sign.times(price));
    else {
      atMost(sign.times(price), limit);
      atMost(smaller(open, limit), sign.times(price));
      assert.ok(
        side === 'buy' ? made.low.lt(money(limitPrice ?? '0')) : made.high.gt(money(limitPrice ?? '0')),
      );
    }
    assert.ok(price.mod(MARKET.steps.price).isZero());
  }
  assert.equal(text(cashOf(after)), text(cash));
  assert.equal(after.position.quantity, text(position));
  assert.equal(text(money(after.equity.feesPaid).minus(money(before.equity.feesPaid))), text(fees));
  if (before.lastBar !== null) {
    const moved = held(before).times(made.close.minus(money(before.lastBar.close)));
    const equity = money(before.equity.total).plus(moved).plus(worth).minus(fees);
    assert.equal(after.equity.total, text(equity));
  }
  if (how.riskMode === 'reduce_only' || how.runState === 'paused') atMost(held(after), held(before));
  if (how.riskMode === 'halted' || how.id === undefined)
    assert.equal(after.position.quantity, before.position.quantity);
}

test('for any sequence: books balance exactly, modes hold, and a restart changes nothing', () => {
  let fills = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }), (steps) => {
      const stayed = subject();
      let restarted = subject();
      let how: Configured = { id: 'a', runState: 'running', riskMode: 'normal' };
      firstOpen = undefined;
      for (const each of [stayed, restarted]) configure(each, how);
      steps.forEach((given, n) => {
        if (given.type === 'restart') {
          restarted = subject(restarted);
          assert.deepEqual(configure(restarted, how), { canceledOrders: 0 });
        } else if (given.type === 'configure') {
          how = given;
          assert.deepEqual(configure(restarted, how), configure(stayed, how));
          assert.deepEqual(configure(stayed, how), { canceledOrders: 0 });
        } else {
          const made = { ...bar(n, '1'), ...given.bar };
          firstOpen ??= made.open;
          const before = stayed.rig.engine.view();
          for (const {
            rig: { engine },
            script,
          } of [stayed, restarted]) {
            Object.assign(script, { wants: given.wants, throws: given.throws });
            assert.equal(
              engine.onBar(made).error?.message,
              given.throws && how.id ? 'out of ideas' : undefined,
            );
          }
          checkBar(before, stayed.rig.engine.view(), made, how);
        }
        checkState(stayed, how);
        assert.deepEqual(restarted.rig.engine.snapshot(), stayed.rig.engine.snapshot());
        assert.deepEqual(restarted.rig.engine.view(), stayed.rig.engine.view());
      });
      const { engine } = stayed.rig;
      const { cash, reserved, realizedPnl, feesPaid } = engine.view().equity;
      if (engine.lastBar() !== undefined)
        assert.deepEqual(accountOf(engine.entries()), {
          cash: text(money(cash).plus(money(reserved))),
          position: engine.view().position.quantity,
          realizedPnl,
          feesPaid,
        });
      fills += stayed.rig.engine.view().execution.fills;
    }),
    { numRuns: 60 },
  );
  assert.ok(fills > 150, `the sequences filled ${fills} orders: too few to show anything`);
});
