import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CALLER, dispatching, relayFleet, until } from '@hermes-fleet/gateway/testing';
import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';

/** A store that accepts tasks and has no space for anything else. */
class FullStore {
  isFull = true;

  readonly wrap = (real: Ledger): Ledger => ({
    ...real,
    append: (...args) => this.#unlessFull(() => real.append(...args)),
    saveCheckpoint: (...args) => this.#unlessFull(() => real.saveCheckpoint(...args)),
  });

  #unlessFull<T>(write: () => Promise<T>): Promise<T> {
    return this.isFull ? Promise.reject(new FleetError('STORE_UNAVAILABLE', 'no space')) : write();
  }
}

async function setUp(t: TestContext, ledger: (real: Ledger) => Ledger) {
  const { orchestrator, worker } = await relayFleet(t, { neo: {} }, { ledger });
  const end = async (id: string) => {
    const { status, unmet = [], attempts } = await orchestrator.result(id);
    assert.equal(worker('neo').ledger.list({ pageSize: 1 }).totalSize, 0, 'the peer has no task');
    assert.deepEqual(attempts, []);
    return { status, unmet: unmet.map(({ kind }) => kind), events: orchestrator.events(id) };
  };
  return { orchestrator, end };
}

/** Long enough for a busy machine to admit a task. */
const inOneSecond = (): number => Date.now() + 1_000;

describe('a relayed task that ends before its dispatch leaves', () => {
  for (const slow of ['accept', 'saveCheckpoint'] as const)
    it(`because its deadline passes during ${slow} is blocked`, async (t) => {
      let deadlineAt = Number.POSITIVE_INFINITY;
      const { orchestrator, end } = await setUp(t, (real) => {
        const late =
          <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
          async (...args: A): Promise<R> => {
            const written = await write(...args);
            await until(() => Date.now() > deadlineAt + 50);
            return written;
          };
        return {
          ...real,
          ...(slow === 'accept'
            ? { accept: late(real.accept) }
            : { saveCheckpoint: late(real.saveCheckpoint) }),
        };
      });
      deadlineAt = inOneSecond();
      const id = await orchestrator.send(dispatching({}, { deadline: new Date(deadlineAt).toISOString() }));
      const { status, unmet } = await end(id);
      assert.deepEqual([status, unmet[0]], ['blocked', 'deadline']);
    });

  it('because its deadline passes while its start cannot be written is blocked, and goes no further', async (t) => {
    const store = new FullStore();
    const { orchestrator, end } = await setUp(t, store.wrap);
    const deadlineAt = inOneSecond();
    const id = await orchestrator.send(dispatching({}, { deadline: new Date(deadlineAt).toISOString() }));
    await until(() => Date.now() > deadlineAt + 50);
    store.isFull = false;
    const { status, unmet, events } = await end(id);
    assert.deepEqual([status, unmet[0]], ['blocked', 'deadline']);
    assert.deepEqual(events, ['submitted', 'queued', 'started', 'alert', 'blocked']);
  });

  it('because it is canceled while its start cannot be written goes no further', async (t) => {
    const store = new FullStore();
    const { orchestrator, end } = await setUp(t, store.wrap);
    const id = await orchestrator.send(dispatching());
    const canceling = orchestrator.gateway.cancel(id, CALLER);
    await new Promise(setImmediate);
    store.isFull = false;
    await canceling;
    const { status, events } = await end(id);
    assert.deepEqual([status, events], ['error', ['submitted', 'queued', 'started', 'canceled']]);
  });
});
