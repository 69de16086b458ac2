import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Strategy } from '@hermes-fleet/market';
import { money, STRATEGY_KINDS, strategyKind } from '@hermes-fleet/market';
import { market } from '@hermes-fleet/market/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { CONCERN, GRID, INTERVAL_MS, MEMBERS, type Running, running, SHIELD } from '../testing/running.ts';
import { strategy } from '../testing/store/harness.ts';

const deadline = { timeout: 60_000 };
const health = ({ runtime }: Running) => runtime.health(CONCERN.id);
const STALE = 'the feed is stale: no bar for more than 3 intervals';

describe('a feed that is late', deadline, () => {
  it('degrades execution by the clock alone and is reported once; the next bar ends it', async (t) => {
    const run = await running(t);
    await run.bar(100);
    const before = run.changes.length;
    run.clock.advance(3 * INTERVAL_MS);
    assert.deepEqual(health(run), { degraded: false, reasons: [] });
    run.clock.advance(1);
    assert.deepEqual(health(run), { degraded: true, reasons: [STALE] });
    assert.equal(run.changes.length, before + 1);
    run.clock.advance(60_000);
    assert.equal(run.changes.length, before + 1);
    const { execution } = await run.bar(100);
    assert.deepEqual([execution.state, execution.reasons], ['ok', []]);
    assert.deepEqual(run.log.messages, [
      `warn: execution is degraded: ${STALE}`,
      'info: execution is healthy again',
    ]);
  });

  it('is stale before its first bar and after its end', async (t) => {
    const run = await running(t);
    run.clock.advance(3 * INTERVAL_MS + 1);
    assert.deepEqual(health(run).reasons, [STALE]);
    await run.bar(100);
    run.feed.end();
    run.clock.advance(3 * INTERVAL_MS + 1);
    const told = [`${STALE}: it has no more bars`];
    while (health(run).reasons[0] !== told[0]) await new Promise(setImmediate);
    assert.deepEqual(health(run).reasons, told);
  });
});

describe('a feed that fails', deadline, () => {
  it('is retried with backoff and degrades execution until its next bar', async (t) => {
    const run = await running(t);
    const asked: number[] = [];
    for (const pause of [500, 1_000, 2_000, 4_000]) {
      run.feed.fail(new Error('the line is dead'));
      await run.clock.asleep(1);
      asked.push(run.clock.now());
      run.clock.advance(pause - 1);
      await run.clock.asleep(1);
      run.clock.advance(1);
    }
    assert.ok(health(run).reasons.includes('the feed has failed more than 3 times in a row'));
    assert.deepEqual(
      asked.slice(1).map((at, i) => at - (asked[i] ?? 0)),
      [500, 1_000, 2_000],
    );
    await run.bar(100);
    assert.deepEqual(health(run), { degraded: false, reasons: [] });
    assert.equal(run.log.messages.filter((message) => message.includes('the feed failed')).length, 1);
  });

  it('includes one that returns an invalid bar: the engine continues with the next', async (t) => {
    const run = await running(t);
    const before = await run.bar(100);
    const one = money('1');
    const bar = { at: run.clock.now() + 1, open: one, high: one, low: one, close: one, volume: one };
    run.feed.push({ ...bar, high: money('0.5') });
    await run.clock.asleep(1);
    assert.match(run.log.messages.join(), /warn: the feed failed; it is retried/);
    assert.deepEqual(run.view().lastBar, before.lastBar);
  });
});

describe('orders that are rejected', deadline, () => {
  it('degrade execution for twenty bars', async (t) => {
    const limits = { max_order: '1000', max_position: '1000', max_open_orders: 5, min_order: '999' };
    const run = await running(t, { market: market({ limits }) });
    await run.bar(100);
    assert.equal(health(run).degraded, false);
    await run.bar(100);
    assert.deepEqual(health(run).reasons, ['more than 5 orders of the last 20 bars were rejected']);
    await run.desire({ activeStrategyId: null });
    for (let bar = 1; bar <= 18; bar += 1) await run.bar(100);
    assert.equal(health(run).degraded, true);
    await run.bar(100);
    assert.equal(health(run).degraded, false);
  });
});

describe('the test hook', () => {
  it('degrades execution and restores it', async (t) => {
    const run = await running(t);
    run.runtime.degrade(CONCERN.id, 'a drill');
    assert.deepEqual(health(run), { degraded: true, reasons: ['a drill'] });
    assert.equal(run.view().execution.state, 'degraded');
    run.runtime.degrade(CONCERN.id, undefined);
    assert.equal(health(run).degraded, false);
  });
});

describe('a strategy that fails', deadline, () => {
  /** The grid strategy, which throws at the bars that `fails` selects. */
  const moody = (fails: () => boolean) => {
    const grid = STRATEGY_KINDS['grid_trader'] ?? assert.fail('there is no grid');
    const kind = strategyKind(grid.params, (params) => {
      const calm = grid.create(JSON.parse(JSON.stringify(params)));
      const onBar: typeof calm.onBar = (view) => {
        if (fails()) throw new Error('it does not know what to do');
        return calm.onBar(view);
      };
      return { ...calm, onBar };
    });
    const member: Strategy = { ...strategy({ ...MEMBERS[0], kind: 'moody' }) };
    return { kinds: { ...STRATEGY_KINDS, moody: kind }, strategies: [member, ...MEMBERS.slice(1)] };
  };

  it('degrades execution until it succeeds again', async (t) => {
    let fails = false;
    const run = await running(
      t,
      moody(() => fails),
    );
    await run.bar(100);
    fails = true;
    for (let bar = 0; bar < 3; bar += 1) await run.bar(100);
    assert.equal(health(run).degraded, false);
    await run.bar(100);
    assert.deepEqual(health(run).reasons, ['more than 3 bars in a row ended in an error']);
    fails = false;
    await run.bar(100);
    assert.deepEqual(health(run), { degraded: false, reasons: [] });
    for (const failing of [true, false]) {
      fails = failing;
      for (let bar = 0; bar < 9; bar += 1) await run.bar(100);
    }
    assert.equal(run.store.strategy(GRID)?.status, 'enabled');
  });

  it('is faulted after ten consecutive errors: the store records it, its entries are canceled, its exits stay', async (t) => {
    let fails = false;
    const run = await running(
      t,
      moody(() => fails),
    );
    await run.bar(100);
    const before = await run.bar(98.9);
    fails = true;
    for (let bar = 0; bar < 9; bar += 1) await run.bar(98.9);
    assert.equal(run.view().openOrders.length, 3);
    await run.bar(98.9);
    const exits = before.openOrders.filter(({ purpose }) => purpose === 'exit');
    assert.deepEqual(run.view().openOrders, exits);
    await run.runtime.close();
    assert.equal(run.store.strategy(GRID)?.status, 'faulted');
    const [status] = run.store.audit(0, 100).filter(({ record }) => record['kind'] === 'status');
    assert.match(
      String(status?.record['reason']),
      /10 errors in a row, the last: it does not know what to do/,
    );
    assert.equal(
      run.log.messages.filter((message) => message.startsWith('error: a strategy is faulted')).length,
      1,
    );
  });

  it('places no entries, whatever is desired, until another strategy is active', async (t) => {
    let fails = true;
    const options = moody(() => fails);
    const run = await running(t, options);
    for (let bar = 0; bar < 10; bar += 1) await run.bar(100);
    fails = false;
    await run.desire({ riskMode: 'cautious' });
    for (let bar = 0; bar < 2; bar += 1) assert.deepEqual((await run.bar(100)).openOrders, []);
    const [member] = options.strategies;
    assert.ok(member);
    assert.match(run.runtime.preflight(member) ?? '', /is faulted: 10 errors in a row/);
    await run.desire({ activeStrategyId: SHIELD });
    await run.bar(100);
    assert.ok(Number((await run.bar(100)).position.quantity) > 0);
  });

  it('is recorded as faulted with a later bar if the store failed', async (t) => {
    let refusals = 2;
    const run = await running(t, {
      ...moody(() => true),
      store: (store) => ({
        loadEngine: store.loadEngine,
        lastEntry: store.lastEntry,
        saveEngine: store.saveEngine,
        setStatus: async (...change) => {
          refusals -= 1;
          if (refusals >= 0) throw new FleetError('STORE_UNAVAILABLE', 'the disk is full');
          await store.setStatus(...change);
        },
      }),
    });
    for (let bar = 0; bar < 11; bar += 1) await run.bar(100);
    assert.equal(run.store.strategy(GRID)?.status, 'enabled');
    await run.bar(100);
    await run.runtime.close();
    assert.equal(run.store.strategy(GRID)?.status, 'faulted');
  });
});
