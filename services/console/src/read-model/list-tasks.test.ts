import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock as clock, systemIds as ids, silentLog as log } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { openStore, type Store } from '@hermes-fleet/store';
import { eventMaker, STARTED_AT } from '../../testing/events.ts';
import { applyTaskEvent } from './apply.ts';
import { listTasks, type TaskQuery } from './list-tasks.ts';
import { READ_MODEL } from './schema.ts';

const TASKS = 1_200;
const STATES = ['done', 'error', 'blocked'] as const;
const CALLERS = ['operator', 'ci', 'switch'];

/** A read model with tasks in turn of each caller and each end; every caller is a name that others begin with. */
async function filled(t: Parameters<typeof tempDir>[0]): Promise<Store> {
  const dir = tempDir(t, { closeFirst: () => store.close() });
  const file = join(dir, 'console.db');
  const store = openStore({ file, schema: READ_MODEL, profile: 'console', clock, ids, log });
  const neo = eventMaker('neo');
  await store.write((db) => {
    for (let at = 0; at < TASKS; at += 1) {
      const caller = CALLERS[at % CALLERS.length] ?? 'ci';
      const task = {
        id: `id-${at}`,
        taskId: `name-${at}`,
        contextId: at === 7 ? 'id-7' : `context-${at}`,
        caller,
      };
      const state = STATES[Math.floor(at / 3) % STATES.length] ?? 'done';
      const more = state === 'blocked' ? { reason: 'mcp' } : state === 'error' ? { error: 'TIMEOUT' } : {};
      const parent = caller === 'switch' ? { parent_task_id: `name-${at}`, parent_profile: 'switch' } : {};
      const submitted = neo('submitted', task, { ...parent, priority: 'low' });
      for (const { event, subject } of [submitted, neo(state, task, more)])
        applyTaskEvent(db, event, subject);
    }
  });
  return store;
}

const all = { parts: true, limit: 200 };

test('every filter finds its tasks, the newest first, and pages reach each of them once', async (t) => {
  const store = await filled(t);
  const pages = (query: TaskQuery): string[] => {
    const found: string[] = [];
    let before: TaskQuery['before'];
    do {
      const { tasks, next } = store.read((db) => listTasks(db, { ...query, before }));
      found.push(...tasks.map(({ id }) => id));
      before = next;
    } while (before);
    return found;
  };
  const numbers = Array.from({ length: TASKS }, (_, at) => TASKS - 1 - at);
  const cases: [Omit<TaskQuery, 'parts' | 'limit'> & { parts?: boolean }, (at: number) => boolean][] = [
    [{}, () => true],
    [{ parts: false }, (at) => at % 3 !== 2],
    [{ state: ['error', 'blocked'] }, (at) => Math.floor(at / 3) % 3 !== 0],
    [{ caller: 'ci', reason: 'TIMEOUT' }, (at) => at % 3 === 1 && Math.floor(at / 3) % 3 === 1],
    [{ profile: 'neo', priority: 'low', reason: 'mcp' }, (at) => Math.floor(at / 3) % 3 === 2],
    [{ peer: 'nobody' }, () => false],
    // A task that has no value for a filter is found by none.
    [{ reason: '', state: ['error'] }, () => false],
    [{ q: 'id-7' }, (at) => `${at}`.startsWith('7')],
    [{ q: 'name-99', caller: 'operator' }, (at) => /^99/.test(`${at}`) && at % 3 === 0],
    [{ q: 'none' }, () => false],
    [{ since: STARTED_AT + 101_000, until: STARTED_AT + 201_000 }, (at) => at >= 50 && at < 100],
  ];
  for (const [query, matches] of cases) {
    const wanted = numbers.filter(matches).map((at) => `id-${at}`);
    const label = JSON.stringify(query);
    assert.deepEqual(pages({ ...all, ...query }), wanted, label);
    const { total, isCounted, states } = store.read((db) => listTasks(db, { ...all, ...query }));
    assert.deepEqual([total, isCounted], [wanted.length, true], label);
    const { state: _, ...others } = query;
    if (query.state)
      assert.deepEqual(states, store.read((db) => listTasks(db, { ...all, ...others })).states, label);
    else
      assert.equal(
        Object.values(states ?? {}).reduce((sum, n) => sum + n, 0),
        total,
        label,
      );
  }
});

test('a search that most tasks match is counted up to a thousand, and says that there are more', async (t) => {
  const store = await filled(t);
  const list = (query: Partial<TaskQuery>) => store.read((db) => listTasks(db, { ...all, ...query }));
  const { tasks, total, isCounted, states } = list({ q: 'name' });
  assert.deepEqual([tasks[0]?.id, tasks.length], [`id-${TASKS - 1}`, 200]);
  assert.deepEqual([total, isCounted, states], [1_000, false, null]);
  const blocked = list({ q: 'name', state: ['blocked'] });
  assert.deepEqual(
    [blocked.total, blocked.isCounted, blocked.states],
    [Math.floor(TASKS / 9) * 3, true, null],
  );
});
