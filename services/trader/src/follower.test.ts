import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Strategy } from '@hermes-fleet/paper';
import { money, STRATEGY_KINDS, strategyKind } from '@hermes-fleet/paper';
import { market } from '@hermes-fleet/paper/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { strategy } from './store/testing/harness.ts';
import { CONCERN, GRID, INTERVAL_MS, MEMBERS, type Running, running, SHIELD } from './testing/running.ts';

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

describe('an engine that cannot be saved', deadline, () => {
  /** A store whose saves of engines fail while `isFull`. */
  const filling = async (t: TestContext) => {
    const disk = { isFull: false, saves: 0 };
    const run = await running(t, {
      store: (store) => ({
        loadEngine: store.loadEngine,
        setStatus: store.setStatus,
        saveEngine: async (...snapshot) => {
          disk.saves += 1;
          if (disk.isFull) throw new FleetError('STORE_UNAVAILABLE', 'the disk is full');
          await store.saveEngine(...snapshot);
        },
      }),
    });
    const until = async (isUnsaved: boolean) => {
      while ((health(run).unsaved !== undefined) !== isUnsaved) await new Promise(setImmediate);
    };
    return { run, disk, until };
  };
  const openOf = ({ view }: Running) => view().openOrders.map(({ side, purpose }) => `${side} ${purpose}`);

  it('enters no position, keeps its exits, and goes on when it is saved with a later bar', async (t) => {
    const { run, disk, until } = await filling(t);
    await run.bar(100);
    assert.deepEqual(openOf(run), ['buy entry', 'buy entry', 'buy entry']);
    await run.bar(100, { low: 98.5 });
    assert.deepEqual(openOf(run).toSorted(), ['buy entry', 'buy entry', 'sell exit']);
    const held = run.view().position.quantity;

    disk.isFull = true;
    await run.bar(100);
    await until(true);
    assert.deepEqual(openOf(run), ['sell exit'], 'entries are canceled');
    const reason =
      "no entries while the engine's snapshot cannot be saved; it is retried with each bar: the disk is full";
    assert.deepEqual(health(run), { degraded: false, reasons: [reason], unsaved: 'the disk is full' });
    for (const low of [90, 80, 70]) await run.bar(95, { low });
    assert.deepEqual([run.view().position.quantity, openOf(run)], [held, ['sell exit']]);
    await run.bar(100, { high: 120 });
    assert.deepEqual([run.view().position.quantity, openOf(run)], ['0', []], 'an exit still reduces risk');

    disk.isFull = false;
    await run.bar(100);
    await until(false);
    assert.deepEqual(health(run), { degraded: false, reasons: [] });
    await run.bar(100);
    assert.deepEqual(openOf(run), ['buy entry', 'buy entry', 'buy entry']);
    assert.deepEqual(run.log.messages, [
      `error: the engine of ${CONCERN.id} was not saved; it enters no position until it is`,
      `info: the engine of ${CONCERN.id} is saved again`,
    ]);
    const { bars } = run.view().execution;
    await run.restart();
    assert.equal(run.view().execution.bars, bars);
  });

  it('takes the next bar only when the last one is saved or has failed to be', async (t) => {
    const gate = Promise.withResolvers<void>();
    let saves = 0;
    const run = await running(t, {
      store: (store) => ({
        loadEngine: store.loadEngine,
        setStatus: store.setStatus,
        saveEngine: async (...snapshot) => {
          saves += 1;
          if (saves === 2) await gate.promise;
          await store.saveEngine(...snapshot);
        },
      }),
    });
    while (saves < 1) await new Promise(setImmediate);
    await run.bar(100);
    while (saves < 2) await new Promise(setImmediate);
    const second = run.bar(100);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(run.view().execution.bars, 1);
    gate.resolve();
    await second;
    assert.equal(run.view().execution.bars, 2);
  });
});

describe('a hold', deadline, () => {
  it('restricts the engine beside its state, outlasts a reconcile, and ends with its holder', async (t) => {
    const run = await running(t);
    await run.bar(100);
    assert.equal(run.view().openOrders.length, 3);
    run.runtime.hold(CONCERN.id, 'a', { runState: 'paused', reason: 'because of a' });
    run.runtime.hold(CONCERN.id, 'b', { riskMode: 'reduce_only', reason: 'because of b' });
    assert.deepEqual(run.view().openOrders, []);
    assert.deepEqual(health(run), { degraded: false, reasons: ['because of a', 'because of b'] });
    await run.desire({ runState: 'running', riskMode: 'normal' });
    run.runtime.hold(CONCERN.id, 'a', undefined);
    await run.bar(100);
    assert.deepEqual(run.view().openOrders, []);
    run.runtime.hold(CONCERN.id, 'b', undefined);
    await run.bar(100);
    assert.equal(run.view().openOrders.length, 3);
    assert.throws(() => run.runtime.hold('nobody:x', 'a', undefined), /there is no engine/);
  });
});
