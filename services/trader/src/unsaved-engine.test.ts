import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { CONCERN, type Running, running } from '../testing/running.ts';

const deadline = { timeout: 60_000 };
const health = ({ runtime }: Running) => runtime.health(CONCERN.id);

describe('an engine that cannot be saved', deadline, () => {
  /** A store whose saves of engines fail while `isFull`. */
  const filling = async (t: TestContext) => {
    const disk = { isFull: false, saves: 0 };
    const run = await running(t, {
      store: (store) => ({
        loadEngine: store.loadEngine,
        lastEntry: store.lastEntry,
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
      "no entries while the engine's snapshot cannot be saved, which is retried: the disk is full";
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

  it('is saved again without a further bar', async (t) => {
    const { run, disk, until } = await filling(t);
    await run.bar(100);
    disk.isFull = true;
    await run.bar(100);
    await until(true);
    run.feed.end();
    disk.isFull = false;
    run.clock.advance(4_999);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.notEqual(health(run).unsaved, undefined);
    run.clock.advance(1);
    await until(false);
  });

  it('takes the next bar only when the last one is saved or has failed to be', async (t) => {
    const gate = Promise.withResolvers<void>();
    let saves = 0;
    const run = await running(t, {
      store: (store) => ({
        loadEngine: store.loadEngine,
        lastEntry: store.lastEntry,
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
    run.runtime.setHold(CONCERN.id, 'a', { runState: 'paused', reason: 'because of a' });
    run.runtime.setHold(CONCERN.id, 'b', { riskMode: 'reduce_only', reason: 'because of b' });
    assert.deepEqual(run.view().openOrders, []);
    assert.deepEqual(health(run), { degraded: false, reasons: ['because of a', 'because of b'] });
    await run.desire({ runState: 'running', riskMode: 'normal' });
    run.runtime.setHold(CONCERN.id, 'a', undefined);
    await run.bar(100);
    assert.deepEqual(run.view().openOrders, []);
    run.runtime.setHold(CONCERN.id, 'b', undefined);
    await run.bar(100);
    assert.equal(run.view().openOrders.length, 3);
    assert.throws(() => run.runtime.setHold('nobody:x', 'a', undefined), /there is no engine/);
  });
});
