import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock as clock, systemIds as ids, silentLog as log } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { integer, openStore } from '@hermes-fleet/store';
import { eventMaker } from '../../testing/events.ts';
import { applyTaskEvent } from './apply.ts';
import { READ_MODEL } from './schema.ts';
import { treesOf } from './task-tree.ts';

const PART = { columns: 'tasks.n', read: (row: Parameters<typeof integer>[0]) => ({ n: integer(row, 'n') }) };

test('a task with very many parts has the oldest fifty, and takes none of another task', async (t) => {
  const dir = tempDir(t, { closeFirst: () => store.close() });
  const file = join(dir, 'console.db');
  const store = openStore({ file, schema: READ_MODEL, profile: 'console', clock, ids, log });
  const [atSwitch, atNeo] = [eventMaker('switch'), eventMaker('neo')];
  await store.write((db) => {
    const part = (id: string, of: string) =>
      atNeo('submitted', { id, caller: 'switch' }, { parent_task_id: of, parent_profile: 'switch' });
    const events = [
      ...['many', 'one'].map((taskId) => atSwitch('submitted', { id: `id-${taskId}`, taskId })),
      ...Array.from({ length: 12_000 }, (_, at) => part(`part-${at}`, 'many')),
      part('only', 'one'),
    ];
    for (const { event, subject } of events) applyTaskEvent(db, event, subject);
  });
  const counts = store.read((db) => treesOf(db, [{ n: 1 }, { n: 2 }], PART)).map(({ parts }) => parts.length);
  assert.deepEqual(counts, [50, 1]);
});
