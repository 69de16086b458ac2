import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualClock, NOW } from '@hermes-fleet/peers/testing';
import { type Clock, type Priority, systemClock } from '@hermes-fleet/protocol';
import { createWaitQueue, type Waiter } from './wait-queue.ts';

/** A wait queue, a change that triggers its checks, and its gauges. */
function open(clock: Clock = systemClock, maxWaiting = 10) {
  const listeners = new Set<() => void>();
  const gauges: Record<string, number> = {};
  const room = createWaitQueue({
    clock,
    maxWaiting,
    ageingMs: 1_000,
    peers: {
      onChange(listener) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    },
    metrics: {
      queueDepth: (queue, depth) => {
        gauges[queue] = depth;
      },
      queueOldestAge: (queue, seconds) => {
        gauges[`${queue} age`] = seconds;
      },
    },
  });
  const change = (): void => {
    for (const listener of listeners) listener();
  };
  return { room, change, gauges, listening: () => listeners.size > 0 };
}

const waiter = (o: Partial<Waiter> = {}): Waiter => ({
  caller: 'operator',
  priority: 'normal',
  since: Date.now(),
  until: () => Date.now() + 60_000,
  checkNow: false,
  signal: new AbortController().signal,
  check: () => true,
  waitsForCapacityOf: () => false,
  nextCheckAt: () => Number.MAX_SAFE_INTEGER,
  ...o,
});

/** Advances the clock by 20 ms, which is one round. */
async function pass(clock: ReturnType<typeof manualClock>): Promise<void> {
  clock.advance(20);
  for (let i = 0; i < 3; i += 1) await turn();
}

describe('the wait queue', () => {
  it('is bounded, but always admits tasks that waited before', () => {
    const { room, gauges, listening } = open(systemClock, 1);
    assert.ok(!listening());
    const first = room.enter(Date.now() - 5_000, false);
    assert.ok(first && listening());
    assert.ok(gauges.waiting === 1 && (gauges['waiting age'] ?? 0) >= 5);
    assert.equal(room.enter(Date.now(), false), undefined);
    const again = room.enter(Date.now(), true);
    assert.ok(again);
    assert.equal(room.size, 2);
    first[Symbol.dispose]();
    again[Symbol.dispose]();
    assert.deepEqual([room.size, gauges.waiting, gauges['waiting age'], listening()], [0, 0, 0, false]);
  });

  it('checks waiters after a change, one after another, in order of aged priority', async () => {
    const { room, change } = open();
    using _place = room.enter(Date.now(), false);
    const looked: string[] = [];
    let places = 2;
    const enter = (name: string, priority: Priority, waitedMs: number): Promise<string> =>
      room.wait(
        waiter({
          priority,
          since: Date.now() - waitedMs,
          check() {
            looked.push(name);
            if (places === 0) return false;
            places -= 1;
            return true;
          },
        }),
      );
    const all = [
      enter('normal', 'normal', 0),
      enter('old and low', 'low', 2_500),
      enter('urgent', 'urgent', 0),
      enter('older and normal', 'normal', 500),
    ];
    change();
    change();
    await Promise.all([all[1], all[2]]);
    assert.deepEqual(looked, ['urgent', 'old and low', 'older and normal', 'normal']);
    places = 2;
    change();
    assert.deepEqual(await Promise.all(all), ['ready', 'ready', 'ready', 'ready']);
  });

  it('checks a waiter again at the time it names, and ends its wait in time', async () => {
    const clock = manualClock();
    const { room } = open(clock);
    const looks: number[] = [];
    const waited = room.wait(
      waiter({
        until: () => NOW + 1_000,
        check() {
          looks.push(clock.now() - NOW);
          return false;
        },
        nextCheckAt: () => clock.now() + 400,
      }),
    );
    for (let i = 0; i < 60; i += 1) await pass(clock);
    assert.equal(await waited, 'over');
    // Each check runs in the following round.
    assert.deepEqual(looks, [420, 840, 1_020]);
  });

  it('checks a waiter without a change on request, and prefers a peer to the end of the wait', async () => {
    const clock = manualClock();
    const { room } = open(clock);
    const now = room.wait(waiter({ checkNow: true }));
    await pass(clock);
    assert.equal(await now, 'ready');
    const last = room.wait(waiter({ until: () => NOW + 30 }));
    for (let i = 0; i < 3; i += 1) await pass(clock);
    assert.equal(await last, 'ready');
  });

  it('rejects with the reason of an abort, or the error of a check, without delaying other waiters', async () => {
    const { room, change } = open();
    using _place = room.enter(Date.now(), false);
    const leaving = new AbortController();
    const reason = new Error('leaving');
    const gone = room.wait(waiter({ signal: leaving.signal }));
    leaving.abort(reason);
    await assert.rejects(gone, reason);
    await assert.rejects(room.wait(waiter({ signal: leaving.signal, checkNow: true })), reason);
    const broken = room.wait(
      waiter({
        priority: 'urgent',
        check() {
          throw new Error('bug');
        },
      }),
    );
    const fine = room.wait(waiter());
    change();
    await assert.rejects(broken, /bug/);
    assert.equal(await fine, 'ready');
  });

  it('knows which waiter is ahead for capacity at a peer', () => {
    const { room } = open();
    const ranked = (priority: Priority, waitedMs: number) => ({ priority, since: Date.now() - waitedMs });
    void room.wait(waiter({ ...ranked('normal', 500), waitsForCapacityOf: (peer) => peer === 'neo' }));
    assert.ok(room.hasWaiterAhead('neo', ranked('normal', 0)));
    assert.ok(room.hasWaiterAhead('neo', ranked('low', 800)));
    assert.ok(!room.hasWaiterAhead('neo', ranked('normal', 800)));
    assert.ok(!room.hasWaiterAhead('neo', ranked('high', 0)));
    assert.ok(!room.hasWaiterAhead('trinity', ranked('normal', 0)));
  });

  it('yields to the event loop while slow checks run, even if all are due at once', async () => {
    const { room } = open();
    using _place = room.enter(Date.now(), false);
    const at = Date.now() + 100;
    let looks = 0;
    let most = 0;
    let before = 0;
    const all = Array.from({ length: 100 }, () =>
      room.wait(
        waiter({
          nextCheckAt: () => at,
          check() {
            looks += 1;
            const until = performance.now() + 5;
            while (performance.now() < until);
            return true;
          },
        }),
      ),
    );
    const between = (): void => {
      most = Math.max(most, looks - before);
      before = looks;
      if (looks < 100) setImmediate(between);
    };
    setImmediate(between);
    await Promise.all(all);
    assert.ok(most <= 6, `${most} looked without a turn in between`);
  });

  it('yields to the event loop while many checks run', async () => {
    const { room, change } = open();
    using _place = room.enter(Date.now(), false);
    let turns = 0;
    let looks = 0;
    const all = Array.from({ length: 200 }, () =>
      room.wait(
        waiter({
          check() {
            looks += 1;
            return true;
          },
        }),
      ),
    );
    change();
    const between = (): void => {
      if (looks > 0 && looks < 200) turns += 1;
      if (looks < 200) setImmediate(between);
    };
    setImmediate(between);
    await Promise.all(all);
    assert.equal(looks, 200);
    assert.equal(room.changes, 1);
    assert.ok(turns >= 3, `${turns} turns in between`);
  });
});
