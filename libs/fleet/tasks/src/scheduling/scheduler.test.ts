import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { NOW } from '@hermes-fleet/peers/testing';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { Lane } from './lane.ts';
import { createScheduler, type ScheduledTask, type Ticket } from './scheduler.ts';
import type { Outlook, Turn } from './turn.ts';

const PLACE: Disposable = { [Symbol.dispose]: () => undefined };

function opened(places = 1, depth = 10) {
  const clock = manualClock(NOW);
  const scheduler = createScheduler({ clock, log: silentLog, ageingMs: 1_000 });
  const lane = new Lane({ name: 'relay', places, depth });
  const started: string[] = [];
  const tickets = new Map<string, Ticket>();
  const ticketOf = (id: string): Ticket => tickets.get(id) ?? assert.fail(`no ${id}`);
  const waitsForSlot = (id: string): Turn => ({
    needs: () => ({ key: 'own' }),
    reserve: () => PLACE,
    to: 'running',
    begin: () => void started.push(id),
  });
  function add(taskId: string, o: Partial<ScheduledTask> = {}, hasBegun = false): Ticket {
    const task = { taskId, contextId: taskId, caller: 'operator', priority: 'normal' as const, ...o };
    const ticket = scheduler.add(lane, { receivedAt: clock.now(), ...task }, 'submitted', hasBegun);
    tickets.set(taskId, ticket);
    ticket.queue(waitsForSlot(taskId));
    return ticket;
  }
  /** Ends the running task, and returns the next one that runs. */
  async function next(): Promise<string | undefined> {
    const before = started.at(-1);
    if (before) ticketOf(before).end();
    const count = started.length;
    await turn();
    assert.ok(started.length <= count + places);
    return started.length > count ? started.at(-1) : undefined;
  }
  return { clock, scheduler, lane, started, add, next, ticketOf, waitsForSlot };
}

describe('the scheduler', () => {
  it('orders tasks by priority, then by arrival', async () => {
    const { add, next } = opened();
    add('n1');
    add('l', { priority: 'low' });
    add('u', { priority: 'urgent' });
    add('n2');
    add('h', { priority: 'high' });
    const order: (string | undefined)[] = [];
    for (let i = 0; i < 6; i += 1) order.push(await next());
    assert.deepEqual(order, ['u', 'h', 'n1', 'n2', 'l', undefined]);
  });

  it('raises waiting tasks, so that low runs in spite of continuous urgent tasks', async () => {
    const { add, next, clock } = opened();
    add('low', { priority: 'low' });
    let served: string | undefined;
    for (let i = 0; i < 10 && served !== 'low'; i += 1) {
      add(`urgent-${i}`, { priority: 'urgent' });
      served = await next();
      clock.advance(500);
    }
    assert.equal(served, 'low');
  });

  it('reports since when a task waits', async () => {
    const { add, lane, clock, next } = opened();
    assert.equal(lane.waitingSince, undefined);
    add('a');
    clock.advance(700);
    add('b');
    assert.equal(lane.waitingSince, NOW);
    await next();
    assert.equal(lane.waitingSince, NOW + 700);
  });

  it('a task that waits releases its place, keeps its context, and restores its position', async () => {
    const { add, lane, started, ticketOf, waitsForSlot } = opened();
    add('first', { contextId: 'c' });
    await turn();
    add('same', { contextId: 'c', priority: 'urgent' });
    add('other');
    ticketOf('first').ask();
    assert.deepEqual([lane.running, lane.asking, lane.waiting], [0, 1, 2]);
    await turn();
    assert.deepEqual(started, ['first', 'other'], 'its context stays its own');
    add('later');
    ticketOf('first').queue(waitsForSlot('first again'));
    await turn();
    assert.equal(started.length, 2, 'the slot is taken');
    ticketOf('other').end();
    await turn();
    assert.equal(started.at(-1), 'first again');
    ticketOf('first').end();
    await turn();
    assert.equal(started.at(-1), 'same');
    ticketOf('same').end();
    await turn();
    assert.equal(started.at(-1), 'later');
  });

  it('a task that was turned away costs its caller no turn', async () => {
    for (const keepsTurn of [true, false]) {
      const { add, started, ticketOf, waitsForSlot } = opened();
      add('a1', { caller: 'a' });
      add('b1', { caller: 'b' });
      add('a2', { caller: 'a' });
      await turn();
      ticketOf('a1').retry(keepsTurn);
      ticketOf('a1').queue(waitsForSlot('a1'));
      await turn();
      assert.deepEqual(started, keepsTurn ? ['a1', 'a1'] : ['a1', 'b1']);
    }
  });

  it('a wall clock that is set back delays no task, and changes no order', async () => {
    const { add, started, clock, ticketOf } = opened();
    add('first');
    await turn();
    add('second', { caller: 'b' });
    await turn();
    clock.set(-3_600_000);
    add('low', { priority: 'low', caller: 'c' });
    ticketOf('first').end();
    await turn();
    assert.deepEqual(started, ['first', 'second']);
  });

  it('a change of its needs costs a task neither its position nor its turn', async () => {
    const { scheduler, add, started, next, lane, clock } = opened();
    for (let i = 0; i < 3; i += 1) for (const caller of ['b', 'c']) add(`${caller}${i}`, { caller });
    let key = 0;
    const task = { taskId: 'a', contextId: 'a', caller: 'a', priority: 'normal' as const };
    scheduler.add(lane, { ...task, receivedAt: clock.now() }, 'submitted', false).queue({
      needs: () => ({ key: `refused ${key}`, until: Number.POSITIVE_INFINITY }),
      reserve: () => PLACE,
      to: 'running',
      begin: () => void started.push('a'),
    });
    for (let i = 0; i < 2; i += 1) {
      key += 1;
      await next();
    }
    key += 1;
    scheduler.changed();
    await next();
    assert.deepEqual(started, ['b0', 'c0', 'a']);
  });

  it('a task whose lane has no place does not hold up a task of another lane', async () => {
    const { scheduler, lane } = opened();
    const parts = new Lane({ name: 'parts', places: Number.POSITIVE_INFINITY, depth: 10 });
    const started: string[] = [];
    const add = (to: Lane, taskId: string): void => {
      const task = { taskId, contextId: taskId, caller: 'operator', priority: 'normal' as const };
      scheduler.add(to, { ...task, receivedAt: NOW }, 'submitted', false).queue({
        needs: () => ({ key: 'any' }),
        reserve: () => PLACE,
        to: 'placed',
        begin: () => void started.push(taskId),
      });
    };
    for (const id of ['relayed', 'relayed too']) add(lane, id);
    add(parts, 'part');
    await turn();
    assert.deepEqual(started, ['relayed', 'part']);
  });

  it('a task that a former process began holds its context before it runs', async () => {
    const { add, next } = opened();
    add('other', { contextId: 'c', priority: 'urgent' });
    add('begun', { contextId: 'c', priority: 'low' }, true);
    assert.deepEqual([await next(), await next(), await next()], ['begun', 'other', undefined]);
  });

  it('judges one task of a context at a time, in order', async () => {
    const { scheduler, lane } = opened();
    const judged: string[] = [];
    const tickets = ['a', 'b', 'c'].map((taskId) => {
      const task = {
        taskId,
        contextId: 'c',
        caller: 'operator',
        priority: 'normal' as const,
        receivedAt: NOW,
      };
      const ticket = scheduler.add(lane, task, 'submitted', false);
      ticket.enterContext(() => judged.push(taskId));
      return ticket;
    });
    await turn();
    assert.deepEqual([judged, tickets.map(({ state }) => state)], [['a'], ['submitted', 'queued', 'queued']]);
    tickets[0]?.end();
    await turn();
    assert.deepEqual(judged, ['a', 'b']);
  });

  it('a failing look or reservation ends the wait of its tasks only', async () => {
    const { scheduler, lane, add, started } = opened(2);
    const broken = (look: boolean): Promise<unknown> => {
      const task = { caller: 'operator', priority: 'urgent' as const, receivedAt: NOW, contextId: `${look}` };
      const ticket = scheduler.add(lane, { ...task, taskId: `${look}` }, 'submitted', false);
      const failed = Promise.withResolvers<unknown>();
      ticket.queue({
        needs: () => ({ key: `${look}` }),
        look(): Outlook {
          if (look) throw new Error('bug');
          return { verdict: 'queued', roomAfterMs: () => 0, changesAt: Number.POSITIVE_INFINITY };
        },
        reserve() {
          throw new Error('bug');
        },
        to: 'placed',
        begin: () => assert.fail('it has no place'),
        failed: (error) => failed.resolve([error instanceof Error && error.message, ticket.state]),
      });
      return failed.promise;
    };
    const both = [broken(true), broken(false)];
    add('fine');
    assert.deepEqual(await Promise.all(both), [
      ['bug', 'submitted'],
      ['bug', 'submitted'],
    ]);
    assert.deepEqual(started, ['fine']);
  });

  it('looks at a place again when it is said to change, and at a task when its wait is long enough', async () => {
    const { scheduler, lane, clock } = opened();
    const looks: number[] = [];
    const ticket = scheduler.add(
      lane,
      { taskId: 'a', contextId: 'a', caller: 'operator', priority: 'normal', receivedAt: NOW },
      'submitted',
      false,
    );
    ticket.queue({
      needs: () => ({ key: 'a' }),
      look(now) {
        looks.push(now - NOW);
        const hasRoom = now >= NOW + 400;
        const afterMs = hasRoom ? 1_000 : Number.POSITIVE_INFINITY;
        return {
          verdict: 'queued',
          roomAfterMs: () => afterMs,
          changesAt: hasRoom ? now + 90_000 : NOW + 400,
        };
      },
      reserve: () => PLACE,
      to: 'placed',
      begin: () => undefined,
    });
    for (let ms = 0; ms < 1_200; ms += 50) {
      await turn();
      clock.advance(50);
    }
    assert.deepEqual([looks, ticket.state], [[0, 400, 1_000], 'placed']);
  });
});
