import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { LifecycleEvent } from '@hermes-fleet/protocol';
import { systemClock as clock, systemIds as ids, silentLog as log } from '@hermes-fleet/protocol/ports';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import { openStore, type Row, type Store } from '@hermes-fleet/store';
import fc from 'fast-check';
import { controlEvent, eventMaker, type SentEvent } from '../../testing/events.ts';
import { createProjector } from '../consume/projector.ts';
import type { Arrival, Topic } from '../consume/readers.ts';
import { READ_MODEL } from './schema.ts';

const PROFILES = ['switch', 'neo', 'morpheus'] as const;

/** Data of events, also with wrong types. */
const data = fc.record(
  {
    part: fc.constantFrom('p1', 7),
    peer: fc.constantFrom('neo', 'morpheus', null, 3),
    usage: fc.oneof(fc.record({ input_tokens: fc.nat(99), output_tokens: fc.nat(99) }), fc.constant('much')),
    spent_tokens: fc.oneof(fc.nat(999), fc.constantFrom(-1, 1.5, Number.MAX_VALUE, '7', null)),
    tokens_spent: fc.oneof(fc.nat(999), fc.constantFrom(-1, 1e300, {})),
    own_tokens: fc.nat(999),
    model: fc.constantFrom('small', 'large', 5),
    model_tier: fc.constantFrom('haiku', 'none', []),
    tool: fc.constantFrom('shell', null),
    phase: fc.constantFrom('started', 'ended'),
    reason: fc.constantFrom('mcp', 'repo', 1),
    unmet: fc.constantFrom([{ kind: 'mcp', name: 'memory' }], [{ kind: 1 }, 'x'], 'none'),
    root_id: fc.constantFrom('r1', 'r2'),
    parent_task_id: fc.constantFrom('r1', null),
    budget_tokens: fc.oneof(fc.nat(999), fc.constant(null)),
    waiting: fc.boolean(),
    executed_by: fc.constantFrom(...PROFILES),
  },
  { requiredKeys: [] },
);
const step = fc.record({
  type: fc.constantFrom(...LifecycleEvent.options),
  task: fc.nat(2),
  caller: fc.constantFrom('operator', 'switch'),
  data,
});

/** The events of each sender, in the order of their numbers. */
const logs = fc
  .tuple(
    ...PROFILES.map(() => fc.array(step, { maxLength: 12 })),
    fc.array(fc.constantFrom('applied', 'rejected'), { maxLength: 5 }),
  )
  .map((parts) => {
    const decisions = parts.at(-1) as string[];
    const control = decisions.map((status, at) =>
      controlEvent(at + 1, { status, codes: ['STALE'], caller: 'operator' }),
    );
    const tasks = PROFILES.map((profile, index) => {
      const make = eventMaker(profile);
      return (parts[index] as { type: LifecycleEvent; task: number; caller: string; data: object }[]).map(
        ({ type, task, caller, data: more }) => make(type, { id: `${profile}-${task}`, caller }, { ...more }),
      );
    });
    return [...tasks, control];
  });

/** One delivery: which sender is next, whether an earlier event of it comes again, whether the process ends after it. */
const delivery = fc.record({ sender: fc.nat(99), again: fc.option(fc.nat(99)), stops: fc.boolean() });

/** An order in which the events arrive: that of each sender's numbers, with copies of earlier ones in between. */
function arrivals(
  senders: readonly (readonly SentEvent[])[],
  order: readonly { sender: number; again: number | null }[],
) {
  const next = senders.map(() => 0);
  const arrived: SentEvent[] = [];
  const deliver = (sender: number): void => {
    const event = senders[sender]?.[next[sender] ?? 0];
    if (event === undefined) return;
    next[sender] = (next[sender] ?? 0) + 1;
    arrived.push(event);
  };
  for (const { sender, again } of order) {
    const at = sender % senders.length;
    deliver(at);
    const seen = next[at] ?? 0;
    const copy = again === null || seen === 0 ? undefined : senders[at]?.[again % seen];
    if (copy) arrived.push(copy);
  }
  for (const [sender, log] of senders.entries()) for (const _ of log) deliver(sender);
  return arrived;
}

const open = (file: string): Store =>
  openStore({ file, schema: READ_MODEL, profile: 'console', clock, ids, log });

async function project(store: Store, events: readonly SentEvent[], from: number): Promise<void> {
  const projector = createProjector({ store, clock, log, onApplied: () => undefined });
  for (const [index, { event, subject }] of events.entries()) {
    const topic: Topic = subject.startsWith('fleet.control.') ? 'control' : 'tasks';
    const meta = { seq: from + index, subject, created: 'c', pending: 0, storedAt: Date.now() };
    const arrival: Arrival = { topic, event, meta };
    await projector.push(arrival);
  }
  await projector.idle();
}

/** Every row that does not depend on the order of arrival. */
function rowsOf(store: Store): Record<string, Row[]> {
  const tables = {
    tasks: 'SELECT * FROM tasks ORDER BY profile, id',
    facets: `SELECT t.profile, t.id, f.entered, f.state, f.peer, f.caller, f.reason, f.priority FROM tasks t
      JOIN facets f ON f.n = t.facet ORDER BY t.profile, t.id`,
    events: `SELECT t.profile, t.id, e.number, e.at, e.type, e.data FROM events e JOIN tasks t ON t.n = e.task
      ORDER BY t.profile, e.number`,
    sources: 'SELECT * FROM sources ORDER BY source',
    spending: 'SELECT * FROM spending ORDER BY width, at, profile, model_tier, model, caller',
    ends: 'SELECT * FROM ends ORDER BY width, at, reason',
    needs: 'SELECT * FROM needs ORDER BY width, at, kind, name',
    decisions: 'SELECT * FROM decisions ORDER BY at, decision_id',
    verdicts: 'SELECT * FROM verdicts ORDER BY width, at, kind, name',
    skips: 'SELECT * FROM skips ORDER BY reason',
  };
  return store.read((db) =>
    Object.fromEntries(
      Object.entries(tables).map(([name, sql]) => [
        name,
        db.all(sql).map(({ n: _, facet: __, ...row }) => row),
      ]),
    ),
  );
}

test('any interleaving of the senders, with copies and restarts, gives the same rows', {
  ...deadline,
}, async (t) => {
  const dir = tempDir(t);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(logs, fc.array(delivery, { maxLength: 40 }), async (senders, order) => {
      run += 1;
      const plain = open(join(dir, `${run}-plain.db`));
      await project(plain, senders.flat(), 1);
      const file = join(dir, `${run}-mixed.db`);
      const mixed = arrivals(senders, order);
      let store = open(file);
      let from = 0;
      for (const [index, { stops }] of order.entries()) {
        if (!stops || index >= mixed.length) continue;
        await project(store, mixed.slice(from, index), from + 1);
        store.close();
        store = open(file);
        from = index;
      }
      await project(store, mixed.slice(from), from + 1);
      assert.deepEqual(rowsOf(store), rowsOf(plain));
      store.close();
      plain.close();
    }),
    { numRuns: 60 },
  );
});
