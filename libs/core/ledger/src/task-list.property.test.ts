import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskState } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { isTerminal } from './states.ts';
import type { Ledger, TaskQuery, TaskRecord } from './types.ts';

const CALLERS = ['switch', 'ä'];
const CONTEXTS = ['c1', 'c2'];
const STATES: readonly TaskState[] = [
  'submitted',
  'queued',
  'working',
  'input_required',
  'completed',
  'failed',
  'rejected',
  'canceled',
];
const EVENTS = [
  'queued',
  'started',
  'progress',
  'text',
  'done',
  'done',
  'done',
  'error',
  'canceled',
  'blocked',
];
const MINUTE_MS = 60_000;

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('accept' as const),
      caller: fc.constantFrom(...CALLERS),
      contextId: fc.constantFrom(...CONTEXTS),
      blocked: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      task: fc.nat(),
      type: fc.constantFrom(...EVENTS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 900, MINUTE_MS, 59 * MINUTE_MS, 60 * MINUTE_MS, 25 * 60 * MINUTE_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prune' as const), batch: fc.nat({ max: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('erase' as const), contextId: fc.constantFrom(...CONTEXTS) }),
  },
);

const query = fc.record(
  {
    caller: fc.constantFrom(...CALLERS, 'nobody'),
    contextId: fc.constantFrom(...CONTEXTS),
    states: fc.oneof(
      fc.subarray([...STATES]),
      fc.constantFrom(...STATES).map((state) => [state]),
    ),
    /** Before or after the update of a task. */
    near: fc.record({ task: fc.nat(), by: fc.constantFrom(-1, 0, 1, MINUTE_MS) }),
  },
  { requiredKeys: [] },
);

/** The tasks that a query finds, by looking at each. */
function expected(tasks: readonly TaskRecord[], wanted: Omit<TaskQuery, 'pageSize'>): string[] {
  const { caller, contextId, states, updatedAfter } = wanted;
  return tasks
    .filter(
      (task) =>
        (caller === undefined || task.caller === caller) &&
        (contextId === undefined || task.contextId === contextId) &&
        (!states?.length || states.includes(task.state)) &&
        (updatedAfter === undefined || task.updatedAt >= updatedAfter),
    )
    .sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
}

function listed(ledger: Ledger, wanted: Omit<TaskQuery, 'pageSize'>, pageSize: number): string[] {
  const found: string[] = [];
  let pageToken = '';
  do {
    const page = ledger.list({ ...wanted, pageSize, pageToken });
    found.push(...page.tasks.map(({ id }) => id));
    pageToken = page.nextPageToken;
    if (!pageToken) assert.equal(page.totalSize, found.length);
  } while (pageToken);
  return found;
}

test('a list has the tasks of its filter, in order, and their number', deadline, async (t) => {
  const { ledger: opened, clock, reopen } = openTestLedger(t);
  let ledger = opened;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 80, size: 'max' }),
      fc.array(query, { minLength: 8, maxLength: 8 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      async (steps, queries, pageSize, restarts) => {
        const ids: string[] = [];
        for (const each of steps) {
          if (each.do === 'wait') clock.advance(each.ms);
          if (each.do === 'accept') {
            const { caller, contextId } = each;
            const following = each.blocked ? [{ event: { type: 'blocked', data: {} } }] : [];
            ids.push((await ledger.accept(newTask({ caller, contextId }), following)).task.id);
          }
          const id = each.do === 'append' ? ids[each.task % ids.length] : undefined;
          if (each.do === 'append' && id !== undefined && ledger.get(id))
            await ledger.append(id, { type: each.type, data: {} });
          if (each.do === 'prune') {
            await ledger.outbox.advance(ledger.outbox.read(0, 10_000).at(-1)?.seq ?? ledger.outbox.cursor());
            await ledger.prune(clock.now(), each.batch);
          }
          if (each.do === 'erase') await erase(ledger, each.contextId);
        }
        if (restarts) ledger = await reopen();
        const tasks = ids.flatMap((id) => ledger.get(id) ?? []);
        for (const { near, ...rest } of queries) {
          const task = near && tasks[near.task % tasks.length];
          const wanted = task ? { ...rest, updatedAfter: task.updatedAt + near.by } : rest;
          assert.deepEqual(listed(ledger, wanted, pageSize), expected(tasks, wanted), JSON.stringify(wanted));
        }
        await removeAll(ledger, clock, ids);
      },
    ),
    { numRuns: 60 },
  );
});

async function erase(ledger: Ledger, contextId: string): Promise<void> {
  const request = { contextId, results: 'keep' } as const;
  for (const caller of CALLERS) {
    const deletion = await ledger.contexts.delete({ ...request, caller }).catch(() => undefined);
    if (!deletion) continue;
    await ledger.contexts.purge();
    const removed = { files: false, result: 'none' } as const;
    await ledger.contexts.record(contextId, { results: 'keep', removed, peers: [] });
  }
}

/** Ends and removes all tasks: nothing may be counted afterwards. */
async function removeAll(ledger: Ledger, clock: { now(): number; advance(ms: number): void }, ids: string[]) {
  for (const id of ids) {
    const task = ledger.get(id);
    if (task && !isTerminal(task.state)) await ledger.append(id, { type: 'error', data: {} });
  }
  await ledger.outbox.advance(ledger.outbox.read(0, 10_000).at(-1)?.seq ?? ledger.outbox.cursor());
  clock.advance(1);
  await ledger.prune(clock.now(), 10_000);
  assert.deepEqual(ledger.list({ pageSize: 1 }), { tasks: [], nextPageToken: '', totalSize: 0 });
}
