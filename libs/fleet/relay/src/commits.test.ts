import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import {
  dispatching,
  PREFERRED_FIRST,
  type RelayFleet,
  relayFleet,
  spending,
  until,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import type { Ledger, NewEvent } from '@hermes-fleet/ledger';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';

function nameOf({ type, data }: NewEvent): string {
  if (type === 'progress') return String(data.outcome ?? data.state);
  return type === 'queued' && data.waiting === true ? 'waits' : type;
}

/** The writes of a ledger, grouped by the commits that a second connection to its file sees. */
class ObservedLedger {
  readonly commits: string[][] = [];
  #connection: DatabaseSync | undefined;
  #version: unknown;

  open(t: TestContext, dir: string): void {
    const connection = new DatabaseSync(join(dir, 'ledger.db'), { readOnly: true });
    t.after(() => connection.close());
    this.#connection = connection;
  }

  readonly wrap = (real: Ledger): Ledger => {
    const { accept, append, saveCheckpoint, tokens } = real;
    return {
      ...real,
      accept: this.#watched(() => 'accepted', accept),
      append: this.#watched(({ 1: event }) => nameOf(event), append),
      saveCheckpoint: this.#watched(() => 'checkpoint', saveCheckpoint),
      tokens: { ...tokens, add: this.#watched(() => 'tokens', tokens.add) },
    };
  };

  #watched<A extends unknown[], R>(name: (args: A) => string, write: (...args: A) => Promise<R>) {
    return async (...args: A): Promise<R> => {
      const value = await write(...args);
      this.#record(name(args));
      return value;
    };
  }

  #record(name: string): void {
    const version = this.#connection?.prepare('PRAGMA data_version').get()?.data_version;
    if (version === undefined) throw new Error('the ledger is not observed yet');
    if (version === this.#version) this.commits.at(-1)?.push(name);
    else this.commits.push([name]);
    this.#version = version;
  }
}

/** Runs a task through an orchestrator. Returns its result and the commits of its run. */
async function relayed(
  t: TestContext,
  workers: Parameters<typeof relayFleet>[1],
  dispatch: JsonObject,
  prepare: (fleet: RelayFleet) => void = () => undefined,
) {
  const ledger = new ObservedLedger();
  const fleet = await relayFleet(t, workers, { ledger: ledger.wrap });
  ledger.open(t, fleet.orchestrator.dir);
  prepare(fleet);
  const id = await fleet.orchestrator.send(dispatching({}, dispatch));
  const { status } = await fleet.orchestrator.result(id);
  return { ...fleet, id, status, commits: ledger.commits };
}

/** A store that fails the first write of each task's alert, and of its end. */
function failingOnce(): (real: Ledger) => Ledger {
  const tried = new Set<string>();
  return ({ append, ...rest }) => ({
    ...rest,
    append(id, event, change) {
      const isLast = event.type === 'alert' || event.type === 'blocked';
      if (!isLast || tried.has(`${event.type} ${id}`)) return append(id, event, change);
      tried.add(`${event.type} ${id}`);
      return Promise.reject(new FleetError('STORE_UNAVAILABLE', 'no space'));
    },
  });
}

/** The peer's states depend on when its stream begins. */
const STATES = new Set(['working', 'submitted']);
const withoutStates = (commits: readonly string[][]): string[][] =>
  commits.filter((writes) => !writes.some((write) => STATES.has(write)));

it('a relayed task whose acceptance fails is sent to nobody, and leaves nothing', async (t) => {
  let isFull = false;
  const failing = (real: Ledger): Ledger => ({
    ...real,
    accept: (...args) =>
      isFull
        ? new Promise((_, reject) => {
            setImmediate(() => reject(new FleetError('STORE_UNAVAILABLE', 'no space')));
          })
        : real.accept(...args),
  });
  const { orchestrator, worker } = await relayFleet(t, { neo: {} }, { ledger: failing });
  isFull = true;
  const dispatch = dispatching({ token_budget: 4_000 });
  await assert.rejects(orchestrator.send(dispatch), { code: 'STORE_UNAVAILABLE' });
  await new Promise(setImmediate);
  assert.deepEqual([orchestrator.gateway.activeTasks(), orchestrator.gateway.queuedTasks()], [0, 0]);
  assert.equal(orchestrator.ledger.list({ pageSize: 1 }).totalSize, 0);
  assert.equal(orchestrator.peers.get('neo')?.inFlight, 0);
  assert.equal(worker('neo').ledger.list({ pageSize: 1 }).totalSize, 0);
  isFull = false;
  const id = await orchestrator.send(dispatch);
  assert.equal((await orchestrator.result(id)).status, 'done');
  assert.equal(worker('neo').runs.length, 1);
});

describe('the commits of a relayed task', { concurrency: 2 }, () => {
  it('that its peer refuses: one with its acceptance before the dispatch leaves, and one with the outcome and the end', async (t) => {
    const { status, commits } = await relayed(
      t,
      { neo: {} },
      { routing: { target: 'neo', on_blocked: 'fail' } },
      ({ worker }) => {
        worker('neo').facts.usable = false;
      },
    );
    assert.equal(status, 'blocked');
    assert.deepEqual(commits, [
      ['accepted', 'started', 'checkpoint', 'delegated'],
      ['refused', 'alert', 'blocked'],
    ]);
  });

  it('that its peer does: the last state, the tokens and the end share one', async (t) => {
    const { status, commits } = await relayed(t, { neo: { script: spending(5) } }, {});
    assert.equal(status, 'done');
    assert.deepEqual(withoutStates(commits), [
      ['accepted', 'started', 'checkpoint', 'delegated'],
      ['completed', 'tokens', 'done'],
    ]);
  });

  it('that goes on to another peer: the outcome of an attempt is in the commit of the next one', async (t) => {
    // The tokens of a long brief are counted before each choice, which takes turns of the event loop.
    const long = { brief: 'work '.repeat(3_000) };
    const { status, commits, orchestrator, id } = await relayed(t, PREFERRED_FIRST, long, ({ worker }) => {
      worker('neo').facts.usable = false;
    });
    assert.equal(status, 'done');
    assert.deepEqual(withoutStates(commits), [
      ['accepted', 'started', 'checkpoint', 'delegated'],
      ['refused', 'checkpoint', 'rerouted', 'delegated'],
      ['completed', 'tokens', 'done'],
    ]);
    assert.deepEqual(
      orchestrator.events(id).filter((type) => type !== 'progress'),
      ['submitted', 'queued', 'started', 'delegated', 'rerouted', 'delegated', 'done'],
    );
  });

  it('that the store could not make are tried again together: the end stays the last event', async (t) => {
    const { orchestrator, worker, hear } = await relayFleet(t, { neo: {} }, { ledger: failingOnce() });
    // Pauses are random, so that a wrong order shows itself in one of several tasks.
    for (let nth = 0; nth < 5; nth += 1) {
      worker('neo').facts.usable = true;
      await hear('neo');
      worker('neo').facts.usable = false;
      const routing = { target: 'neo', on_blocked: 'fail' };
      const id = await orchestrator.send(dispatching({}, { routing }));
      await orchestrator.result(id);
      assert.deepEqual(orchestrator.events(id).slice(-2), ['alert', 'blocked']);
    }
  });

  it('that waits until its deadline, when the store fails once: the alert is not lost', async (t) => {
    const { orchestrator, worker } = await relayFleet(t, { neo: {} }, { ledger: failingOnce() });
    worker('neo').facts.mcp.memory = 'error';
    const deadline = new Date(Date.now() + 1_500).toISOString();
    const requirements = { required_mcp: ['memory'] };
    const id = await orchestrator.send(
      dispatching({}, { deadline, requirements, routing: { on_blocked: 'queue' } }),
    );
    const { unmet } = await orchestrator.result(id);
    assert.equal(unmet?.[0]?.kind, 'deadline');
    assert.deepEqual(orchestrator.events(id).slice(-2), ['alert', 'blocked']);
  });

  it('that waits after a refusal: the wait and what it was told before share one', async (t) => {
    const ledger = new ObservedLedger();
    const { orchestrator, worker } = await relayFleet(t, { neo: {} }, { ledger: ledger.wrap });
    ledger.open(t, orchestrator.dir);
    worker('neo').facts.mcp.memory = 'error';
    const id = await orchestrator.send(
      dispatching({}, { requirements: { required_mcp: ['memory'] }, routing: { on_blocked: 'queue' } }),
    );
    await until(() => orchestrator.events(id).filter((type) => type === 'queued').length === 2);
    assert.deepEqual(ledger.commits, [
      ['accepted', 'started', 'checkpoint', 'delegated'],
      ['refused', 'checkpoint', 'waits'],
    ]);
    const kept = orchestrator.ledger.loadCheckpoint(id);
    assert.equal(Array.isArray(kept?.refusals) && kept.refusals.length, 1, 'the refusal is durable');
    assert.deepEqual([kept?.current, kept?.waiting !== undefined], [undefined, true]);
  });

  it('that goes on waiting after a full peer: what it was told is durable, and the wait is not written again', async (t) => {
    const ledger = new ObservedLedger();
    const limits = { max_concurrent_tasks: 1, queue_depth: 0 };
    const neo = { script: untilAborted, fleet: { limits } };
    const { orchestrator, worker } = await relayFleet(t, { neo }, { ledger: ledger.wrap });
    ledger.open(t, orchestrator.dir);
    await worker('neo').send(dispatching());
    await worker('neo').firstRun;
    const id = await orchestrator.send(dispatching());
    const timesTurnedAway = (): number => {
      const { turnedAway, current } = orchestrator.ledger.loadCheckpoint(id) ?? {};
      return current === undefined ? Number(turnedAway) : 0;
    };
    await until(() => timesTurnedAway() >= 1);
    const announce = await worker('neo').gateway.freshAnnounce();
    // It says that it has a free slot, which is no longer true.
    const wrong = { ...announce, limits: { ...announce.limits, freeSlots: 1 } };
    await orchestrator.peers.record(wrong, { name: 'neo' });
    await until(() => timesTurnedAway() >= 2);
    assert.deepEqual(ledger.commits.slice(0, 4), [
      ['accepted', 'started', 'checkpoint', 'delegated'],
      ['full', 'checkpoint', 'waits'],
      ['checkpoint', 'delegated'],
      ['full', 'checkpoint', 'waits'],
    ]);
  });
});
