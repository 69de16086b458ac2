import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineView, OrderView } from '@hermes-fleet/market';
import { createSyntheticFeed, money } from '@hermes-fleet/market';
import { CONCERN, GRID, MEMBERS, type Running, running, SHIELD, TREND } from '../testing/running.ts';
import { strategy } from '../testing/store/harness.ts';

const deadline = { timeout: 60_000 };
const ofPurpose = ({ openOrders }: EngineView, purpose: OrderView['purpose']): OrderView[] =>
  openOrders.filter((order) => order.purpose === purpose);
const entries = (view: EngineView): OrderView[] => ofPurpose(view, 'entry');
const exits = (view: EngineView): OrderView[] => ofPurpose(view, 'exit');
const held = ({ position }: EngineView): number => Number(position.quantity);

/** A grid that has bought its first level; the other buys are open. */
async function holding(run: Running): Promise<EngineView> {
  await run.bar(100);
  const view = await run.bar(98.9);
  assert.deepEqual([entries(view).length, exits(view).length, held(view) > 0], [2, 1, true]);
  return view;
}

describe('decisions show in the orders and the position within two bars', deadline, () => {
  it('running: the grid places its entries and sells the filled ones', async (t) => {
    const run = await running(t);
    assert.equal(entries(await run.bar(100)).length, 3);
    await holding(run);
    assert.equal(held(await run.bar(100.5)), 0);
  });

  it('paused: entries are canceled at once, the exit stays and is filled; resumed: entries return', async (t) => {
    const run = await running(t);
    const before = await holding(run);
    assert.deepEqual(await run.desire({ runState: 'paused' }), { canceledOrders: 2 });
    assert.deepEqual(run.view().openOrders, exits(before));
    for (const price of [98.8, 98.7]) assert.deepEqual(entries(await run.bar(price)), []);
    assert.equal(held(await run.bar(100.5)), 0);
    assert.deepEqual(await run.desire({ runState: 'running' }), { canceledOrders: 0 });
    assert.equal(entries(await run.bar(100.4)).length, 3);
  });

  it('cautious: entries are half as large', async (t) => {
    const run = await running(t);
    const sizes = (view: EngineView): number[] => entries(view).map(({ quantity }) => Number(quantity));
    const whole = sizes(await run.bar(100));
    await run.desire({ riskMode: 'cautious' });
    for (const view of [run.view(), await run.bar(100)])
      for (const [i, size] of sizes(view).entries())
        assert.ok(Math.abs(size - (whole[i] ?? 0) / 2) < 0.001, `${size} of ${whole[i]}`);
    await run.desire({ runState: 'paused' });
    await run.desire({ runState: 'running' });
    const [size] = sizes(await run.bar(100));
    assert.ok(Math.abs((size ?? 0) - (whole[0] ?? 0) / 2) < 0.001, `a new entry is ${size} of ${whole[0]}`);
  });

  it('reduce_only: the position never grows, and still shrinks', async (t) => {
    const run = await running(t);
    let before = held(await holding(run));
    assert.deepEqual(await run.desire({ riskMode: 'reduce_only' }), { canceledOrders: 2 });
    for (const price of [97, 95, 93, 97, 101]) {
      const now = held(await run.bar(price));
      assert.ok(now <= before, `${before} became ${now}`);
      before = now;
    }
    assert.equal(before, 0);
  });

  it('halted: all orders are canceled and none is placed', async (t) => {
    const run = await running(t);
    const before = held(await holding(run));
    assert.deepEqual(await run.desire({ riskMode: 'halted' }), { canceledOrders: 3 });
    for (const price of [97, 101]) {
      const view = await run.bar(price);
      assert.deepEqual([view.openOrders, held(view)], [[], before]);
    }
  });

  it("switched to the protector: the grid's orders are canceled, and its position is inherited and brought to the target", async (t) => {
    const run = await running(t);
    const before = await holding(run);
    assert.deepEqual(await run.desire({ activeStrategyId: SHIELD }), {
      canceledOrders: 3,
      inheritedPosition: before.position.quantity,
    });
    assert.deepEqual(run.view().openOrders, []);
    await run.bar(98.9);
    const after = await run.bar(98.9);
    const share = (held(after) * 98.9) / Number(after.equity.total);
    assert.ok(Math.abs(share - 0.3) < 0.02, `the share is ${share}`);
  });

  it('switched to the trend follower: a falling position is sold', async (t) => {
    const run = await running(t);
    await holding(run);
    for (const price of [98.8, 98.7, 98.6]) await run.bar(price);
    await run.desire({ activeStrategyId: TREND });
    await run.bar(98.5);
    assert.equal(held(await run.bar(98.4)), 0);
  });

  it('nothing active: orders are canceled, and the position stays', async (t) => {
    const run = await running(t);
    const before = held(await holding(run));
    assert.deepEqual(await run.desire({ activeStrategyId: null }), { canceledOrders: 3 });
    assert.deepEqual([(await run.bar(97)).openOrders, held(run.view())], [[], before]);
  });
});

describe('reconciling', deadline, () => {
  it('is idempotent', async (t) => {
    const run = await running(t);
    await holding(run);
    await run.desire({ runState: 'paused' });
    const before = run.view();
    assert.deepEqual(await run.desire(), { canceledOrders: 0 });
    assert.deepEqual(run.view(), before);
  });

  it('leaves the engine unchanged if it fails', async (t) => {
    const run = await running(t);
    const before = await holding(run);
    const other = { ...CONCERN, activeStrategyId: TREND, rev: 9 };
    await assert.rejects(run.runtime.reconcile(other, strategy({ id: TREND, params: { levels: 0 } })), {
      code: 'CONFIG_INVALID',
      message: /levels/,
    });
    await assert.rejects(run.runtime.reconcile({ ...other, id: 'a:b' }, undefined), { code: 'NOT_FOUND' });
    assert.deepEqual(run.view(), before);
    assert.equal(entries(await run.bar(98.9)).length, 2);
  });

  it('can always lower the risk of a strategy that was removed together with its kind', async (t) => {
    const run = await running(t);
    await holding(run);
    const gone = { status: 'disabled', kind: 'gone' } as const;
    assert.deepEqual(await run.desire({}, gone), { canceledOrders: 2 });
    assert.equal((await run.bar(98.9)).openOrders.length, 1);
    assert.deepEqual(await run.desire({ riskMode: 'halted' }, gone), { canceledOrders: 1 });
    assert.deepEqual((await run.bar(98.9)).openOrders, []);
  });

  it('allows no entries of a strategy that may not run', async (t) => {
    const run = await running(t);
    await holding(run);
    assert.deepEqual(await run.desire({}, { status: 'disabled' }), { canceledOrders: 2 });
    assert.deepEqual(entries(await run.bar(98.9)), []);
  });
});

describe('the preflight of a switch', () => {
  it('returns why a strategy cannot run, and changes nothing', async (t) => {
    const { runtime, view } = await running(t);
    const before = view();
    assert.deepEqual(MEMBERS.map(runtime.preflight), [undefined, undefined, undefined]);
    for (const [wrong, why] of [
      [{ kind: 'market_maker' }, /there is no kind market_maker; use one of trend_follower, grid_trader/],
      [
        { params: { levels: 0, spacing: 1 } },
        /params\.levels: .*params\.spacing: there is no such parameter/,
      ],
      [{ marketSymbol: 'btcusd' }, /no engine for concern qndd8o9ppop6:btcusd/],
    ] as const)
      assert.match(runtime.preflight(strategy(wrong)) ?? '', why);
    assert.deepEqual(view(), before);
  });

  it('handles unknown concerns', async (t) => {
    const { runtime } = await running(t);
    assert.equal(runtime.view('a:b'), undefined);
    assert.equal(runtime.health('a:b').degraded, true);
    assert.throws(() => runtime.degrade('a:b', 'a test'), { code: 'NOT_FOUND' });
  });
});

describe('a restart', deadline, () => {
  for (const [kind, id] of [
    ['grid', GRID],
    ['trend', TREND],
    ['protector', SHIELD],
  ] as const)
    it(`in the middle changes nothing: ${kind}`, async (t) => {
      const walk = { seed: 11, startPrice: money('100'), volatilityBps: money('80'), intervalMs: 1_000 };
      const feed = (clock: Parameters<typeof createSyntheticFeed>[1]) => createSyntheticFeed(walk, clock);
      const whole = await running(t, { feed });
      const parted = await running(t, { feed });
      for (const run of [whole, parted]) await run.desire({ activeStrategyId: id });
      for (let bar = 1; bar <= 40; bar += 1) {
        for (const run of [whole, parted]) {
          await run.clock.asleep(1);
          run.clock.advance(1_000);
        }
        if (bar % 10 === 0) {
          await parted.clock.asleep(1);
          await parted.restart();
        }
      }
      await Promise.all([whole.clock.asleep(1), parted.clock.asleep(1)]);
      assert.ok(whole.view().execution.fills > 0, 'nothing was traded');
      assert.deepEqual(parted.view(), whole.view());
      await Promise.all([whole.runtime.close(), parted.runtime.close()]);
      assert.deepEqual(parted.store.loadEngine(CONCERN.id), whole.store.loadEngine(CONCERN.id));
    });

  it('fails with a snapshot that cannot be read', async (t) => {
    const run = await running(t);
    await run.runtime.close();
    await run.store.saveEngine(CONCERN.id, { version: 99 }, []);
    await assert.rejects(run.restart(), { code: 'STORE_UNAVAILABLE', message: /the stored engine of/ });
  });

  it('fills nothing before its first reconcile', async (t) => {
    const run = await running(t);
    const before = await holding(run);
    await run.restart({ isReconciled: false });
    const late = run.bar(50);
    await new Promise(setImmediate);
    assert.deepEqual(run.view().openOrders, before.openOrders);
    await run.desire({ riskMode: 'halted' });
    const { openOrders, position } = await late;
    assert.deepEqual([openOrders, position.quantity], [[], before.position.quantity]);
  });

  it('keeps cancellations that no bar followed', async (t) => {
    const run = await running(t);
    await holding(run);
    await run.desire({ runState: 'paused' });
    await run.restart();
    assert.deepEqual([entries(run.view()).length, exits(run.view()).length], [0, 1]);
  });
});

describe('closing', deadline, () => {
  it('saves the last bar and takes no more', async (t) => {
    const run = await running(t);
    await run.bar(100);
    await run.runtime.close();
    const bars = run.store.loadEngine(CONCERN.id)?.['bars'];
    assert.ok(Array.isArray(bars) && bars.length === 1);
    run.runtime.start();
    run.feed.push({
      at: run.clock.now() + 1,
      open: money('1'),
      high: money('1'),
      low: money('1'),
      close: money('1'),
      volume: money('1'),
    });
    await run.runtime.close();
    assert.equal(run.view().execution.bars, 1);
  });

  it('ends the backoff of a failed feed', async (t) => {
    const run = await running(t);
    run.feed.fail(new Error('no line'));
    await run.clock.asleep(1);
    await run.runtime.close();
  });

  it('abandons and reports a snapshot that the store does not save in time', async (t) => {
    const stuck = Promise.withResolvers<void>();
    const run = await running(t, {
      store: (store) => ({
        loadEngine: store.loadEngine,
        lastEntry: store.lastEntry,
        setStatus: store.setStatus,
        saveEngine: () => stuck.promise,
      }),
    });
    await run.bar(100);
    const closed = run.runtime.close();
    await run.clock.asleep(1);
    run.clock.advance(10_000);
    await closed;
    assert.match(
      run.log.messages.join(),
      /error: an engine's snapshot was not saved within 10000 ms of the stop/,
    );
    stuck.resolve();
  });
});
