import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLiveTasks } from './live-tasks.ts';
import type { TaskRecord } from './types.ts';

const task = (id: string): TaskRecord => ({
  id,
  contextId: 'c',
  caller: 'operator',
  key: id,
  state: 'queued',
  message: {},
  dispatch: {},
  result: undefined,
  resumes: 0,
  createdAt: 0,
  updatedAt: 0,
  lastSeq: 1,
});

test('what is stored for one task is not remembered of another', () => {
  const tasks = createLiveTasks();
  tasks.accepted(1, task('a'));
  tasks.accepted(2, task('b'));
  tasks.stores('a', 'tokens');
  tasks.stores('a', 'checkpoint');
  tasks.accepted(3, task('c'));
  const belongings = ['a', 'b', 'c'].map((id) => [...(tasks.findTask(id)?.belongings ?? [])].sort());
  assert.deepEqual(belongings, [['checkpoint', 'tokens'], [], []]);
});
