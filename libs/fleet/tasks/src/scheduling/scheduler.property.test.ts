import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { NOW } from '@hermes-fleet/peers/testing';
import type { SchedulingState } from '@hermes-fleet/protocol';
import { Priority } from '@hermes-fleet/protocol/handshake';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { Lane } from './lane.ts';
import { createScheduler, type Ticket } from './scheduler.ts';
import type { Turn } from './turn.ts';

const NONE = new Lane({ name: 'none', places: 0, depth: 0 });
const PEERS = ['neo', 'morpheus', 'trinity'];
/** Where the tasks of each class can go. */
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  any: PEERS,
  two: ['neo', 'trinity'],
  one: ['trinity'],
};
/** Ageing has its own test. */
const AGEING_MS = 1e12;

interface Task {
  readonly id: string;
  readonly caller: string;
  readonly priority: Priority;
  readonly contextId: string;
  readonly order: number;
  readonly lane: Lane;
  needs: string;
  ticket: Ticket;
  peer: string | undefined;
  /** It has had a place, and has not ended. */
  begun: boolean;
}

/** A world of peers with slots, in which tasks are looked for one by one. */
function world(places: number) {
  const clock = manualClock(NOW);
  const scheduler = createScheduler({ clock, log: silentLog, ageingMs: AGEING_MS });
  const lanes = [
    new Lane({ name: 'relay', places, depth: 1_000 }),
    new Lane({ name: 'parts', places: Number.POSITIVE_INFINITY, depth: 1_000 }),
  ];
  const limits = new Map(PEERS.map((name) => [name, 1]));
  const away = new Set<string>();
  const tasks = new Set<Task>();
  let arrivals = 0;

  const placed = (): Task[] => [...tasks].filter(({ peer }) => peer !== undefined);
  const used = (name: string): number => placed().filter(({ peer }) => peer === name).length;
  const free = (name: string): boolean => !away.has(name) && used(name) < (limits.get(name) ?? 0);
  const canGoTo = ({ needs }: Task): readonly string[] => CLASSES[needs] ?? [];

  /** Tasks that wait, and whose context is free or their own. */
  function startable(): Task[] {
    const waiting = [...tasks].filter(
      ({ ticket }) => ticket.state === 'queued' || ticket.state === 'waiting',
    );
    const isTaken = ({ contextId, begun }: Task): boolean =>
      !begun && [...tasks].some((other) => other.begun && other.contextId === contextId);
    const rank = ({ priority }: Task): number => Priority.options.indexOf(priority);
    const isBehind = (task: Task): boolean =>
      !task.begun &&
      waiting.some(
        (other) =>
          other.contextId === task.contextId &&
          (rank(other) > rank(task) || (rank(other) === rank(task) && other.order < task.order)),
      );
    return waiting.filter((task) => !isTaken(task) && !isBehind(task));
  }

  const turnOf = (task: Task): Turn => ({
    // The needs of some may change at any time.
    needs: () => ({ key: task.needs, ...(task.order % 2 === 0 && { until: Number.POSITIVE_INFINITY }) }),
    look: (now) => ({
      verdict: canGoTo(task).some((name) => !away.has(name)) ? 'queued' : 'waiting',
      roomAfterMs: () => (canGoTo(task).some(free) ? 0 : Number.POSITIVE_INFINITY),
      changesAt: now + 1e9,
    }),
    reserve() {
      const name = canGoTo(task).find(free);
      if (name === undefined) return undefined;
      for (const other of startable()) {
        if (other === task || !other.lane.hasPlace || !canGoTo(other).some(free)) continue;
        const higher = Priority.options.indexOf(other.priority) - Priority.options.indexOf(task.priority);
        assert.ok(higher <= 0, `${task.id} passes the more urgent ${other.id}`);
        const isAlike = higher === 0 && other.caller === task.caller && other.lane === task.lane;
        assert.ok(!isAlike || other.order > task.order, `${task.id} passes ${other.id} of its caller`);
      }
      task.peer = name;
      task.begun = true;
      return {
        [Symbol.dispose]() {
          task.peer = undefined;
        },
      };
    },
    to: 'placed',
    begin: () => undefined,
  });

  function check(): void {
    const count = (...states: SchedulingState[]): number =>
      [...tasks].filter(({ ticket }) => states.includes(ticket.state)).length;
    const sum = (of: (lane: Lane) => number): number => of(lanes[0] ?? NONE) + of(lanes[1] ?? NONE);
    assert.equal(
      sum(({ waiting }) => waiting),
      count('queued', 'waiting'),
      'every waiting task is counted once',
    );
    assert.equal(
      sum(({ asking }) => asking),
      count('asking'),
    );
    assert.equal(
      sum(({ running }) => running),
      placed().length,
    );
    assert.ok((lanes[0]?.running ?? 0) <= places);
    for (const name of PEERS) assert.ok(used(name) <= 3, 'no peer has more than it ever announced');
    for (const { ticket, peer } of tasks)
      assert.equal(peer !== undefined, ticket.state === 'placed' || ticket.state === 'running', 'a place');
    const begun = [...tasks].filter((task) => task.begun).map(({ contextId }) => contextId);
    assert.equal(new Set(begun).size, begun.length, 'a context has one task at a time');
    for (const task of startable())
      assert.ok(!task.lane.hasPlace || !canGoTo(task).some(free), `${task.id} waits beside a free slot`);
    for (const { ticket, needs } of tasks) {
      if (ticket.state !== 'waiting' && ticket.state !== 'queued') continue;
      const somebody = (CLASSES[needs] ?? []).some((name) => !away.has(name));
      assert.equal(ticket.state, somebody ? 'queued' : 'waiting');
    }
  }

  return {
    tasks,
    check,
    async settle(): Promise<void> {
      await turn();
      check();
    },
    arrive(caller: string, priority: Priority, context: number, needs: string, isPart: boolean): void {
      arrivals += 1;
      const id = `t${arrivals}`;
      const contextId = isPart ? id : `c${context}`;
      const lane = lanes[isPart ? 1 : 0] ?? NONE;
      const info = { taskId: id, contextId, caller, priority, receivedAt: clock.now() };
      const ticket = scheduler.add(lane, info, 'submitted', false);
      const rest = { needs, ticket, lane, peer: undefined, begun: false };
      const task: Task = { id, caller, priority, contextId, order: arrivals, ...rest };
      tasks.add(task);
      ticket.queue(turnOf(task));
    },
    pass(ms: number, setBackMs: number): void {
      clock.set(-setBackMs);
      clock.advance(ms);
    },
    changeNeeds(needs: string): void {
      for (const task of tasks) if (task.order % 2 === 0) task.needs = needs;
      scheduler.changed();
    },
    change(name: string, limit: number, isAway: boolean): void {
      limits.set(name, limit);
      if (isAway) away.add(name);
      else away.delete(name);
      scheduler.changed();
    },
    step(task: Task, what: string): void {
      const { ticket } = task;
      const { state } = ticket;
      if (what === 'end') {
        if (state === 'submitted') return;
        ticket.end();
        tasks.delete(task);
      } else if (what === 'refuse' && (state === 'placed' || state === 'running')) {
        ticket.retry(false);
        ticket.queue(turnOf(task));
      } else if (what === 'run') ticket.run();
      else if (what === 'ask' && state === 'running') ticket.ask();
      else if (what === 'answer' && state === 'asking') ticket.queue(turnOf(task));
      else if (what === 'give up' && (state === 'waiting' || (state === 'queued' && !task.begun))) {
        ticket.leave();
        ticket.end();
        tasks.delete(task);
      }
    },
  };
}

const what = fc.constantFrom('run', 'run', 'end', 'end', 'refuse', 'ask', 'answer', 'give up');
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom('a', 'b', 'c'),
        fc.constantFrom(...Priority.options),
        fc.nat(8),
        fc.constantFrom(...Object.keys(CLASSES)),
        fc.boolean(),
      )
      .map((arrives) => ({ arrives })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(100_000), fc.nat(10_000_000)).map((passes) => ({ passes })),
  },
  { weight: 1, arbitrary: fc.constantFrom(...Object.keys(CLASSES)).map((needs) => ({ needs })) },
  { weight: 6, arbitrary: fc.tuple(fc.nat(30), what).map((moves) => ({ moves })) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...PEERS), fc.nat(3), fc.boolean()).map((changes) => ({ changes })),
  },
);

it('no task is in two states, forgotten or out of order, and no slot is free beside one that could use it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 120, size: 'max' }),
      fc.integer({ min: 1, max: 5 }),
      async (steps, places) => {
        const made = world(places);
        for (const each of steps) {
          if ('arrives' in each) made.arrive(...each.arrives);
          else if ('changes' in each) made.change(...each.changes);
          else if ('passes' in each) made.pass(...each.passes);
          else if ('needs' in each) made.changeNeeds(each.needs);
          else {
            const [nth, name] = each.moves;
            const task = [...made.tasks][nth % (made.tasks.size || 1)];
            if (task) made.step(task, name);
          }
          await made.settle();
        }
        for (const name of PEERS) made.change(name, 3, false);
        for (let left = 2 * made.tasks.size; left > 0; left -= 1) {
          await made.settle();
          const task = [...made.tasks].find(({ ticket }) => ticket.state !== 'queued');
          if (task) made.step(task, 'end');
        }
        assert.equal(made.tasks.size, 0, 'finite load drains');
      },
    ),
  );
});
