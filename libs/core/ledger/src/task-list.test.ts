import assert from 'node:assert/strict';
import { test } from 'node:test';
import { START } from '@hermes-fleet/protocol/testing';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { rowsOf } from '../testing/reading.ts';
import { listTasks } from './task-list.ts';
import type { Ledger, TaskQuery } from './types.ts';

function pages(ledger: Ledger, query: TaskQuery): string[][] {
  const found: string[][] = [];
  let pageToken = '';
  do {
    const page = ledger.list({ ...query, pageToken });
    found.push(page.tasks.map(({ key }) => key));
    pageToken = page.nextPageToken;
  } while (pageToken);
  return found;
}

test('tasks are listed in pages, latest update first, then by id', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  assert.deepEqual(ledger.list({ pageSize: 5 }), { tasks: [], nextPageToken: '', totalSize: 0 });
  for (const key of ['a', 'b', 'c', 'd']) await ledger.accept(newTask({ key, id: `id-${key}` }));
  clock.advance(1);
  await ledger.accept(newTask({ key: 'e' }));
  clock.advance(1);
  await ledger.append('id-b', { type: 'started', data: {} });
  assert.deepEqual(pages(ledger, { pageSize: 2 }), [['b', 'e'], ['a', 'c'], ['d']]);
  assert.deepEqual(pages(ledger, { pageSize: 5 }), [['b', 'e', 'a', 'c', 'd']]);
  assert.deepEqual(pages(ledger, { pageSize: 100 }), [['b', 'e', 'a', 'c', 'd']]);
});

test('an update between two pages does not shift the other tasks', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  for (const key of ['a', 'b', 'c', 'd']) {
    await ledger.accept(newTask({ key, id: `id-${key}` }));
    clock.advance(1);
  }
  const first = ledger.list({ pageSize: 2 });
  assert.deepEqual(
    first.tasks.map(({ key }) => key),
    ['d', 'c'],
  );
  await ledger.append('id-d', { type: 'started', data: {} });
  await ledger.accept(newTask({ key: 'e' }));
  const second = ledger.list({ pageSize: 2, pageToken: first.nextPageToken });
  assert.deepEqual(
    second.tasks.map(({ key }) => key),
    ['b', 'a'],
  );
  assert.equal(second.totalSize, 5);
});

test('filters combine, and totalSize counts the filtered tasks', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  await ledger.accept(newTask({ key: 'a', caller: 'x', contextId: 'c1' }));
  const { task } = await ledger.accept(newTask({ key: 'b', caller: 'x', contextId: 'c2' }));
  await ledger.accept(newTask({ key: 'c', caller: 'y', contextId: 'c1' }));
  clock.advance(5);
  await ledger.append(task.id, { type: 'done', data: {} });
  const found = (query: Omit<TaskQuery, 'pageSize'>): [string, number] => {
    const page = ledger.list({ ...query, pageSize: 100 });
    return [
      page.tasks
        .map(({ key }) => key)
        .toSorted()
        .join(),
      page.totalSize,
    ];
  };
  assert.deepEqual(found({ caller: 'x' }), ['a,b', 2]);
  assert.deepEqual(found({ contextId: 'c1' }), ['a,c', 2]);
  assert.deepEqual(found({ caller: 'x', contextId: 'c1' }), ['a', 1]);
  assert.deepEqual(found({ states: ['completed', 'failed'] }), ['b', 1]);
  assert.deepEqual(found({ states: ['submitted', 'completed'], caller: 'x' }), ['a,b', 2]);
  assert.deepEqual(found({ states: [] }), ['a,b,c', 3]);
  assert.deepEqual(found({ updatedAfter: START + 5 }), ['b', 1]);
  assert.deepEqual(found({ updatedAfter: START + 6 }), ['', 0]);
});

test('a page token of another query is invalid', async (t) => {
  const { ledger } = openTestLedger(t);
  for (let i = 0; i < 3; i += 1) await ledger.accept(newTask());
  const { nextPageToken } = ledger.list({ pageSize: 2, caller: 'switch' });
  const garbage = Buffer.from('[1,2,3]').toString('base64url');
  for (const pageToken of ['x', garbage, nextPageToken.slice(0, -4), 'A'.repeat(5000)]) {
    assert.throws(() => ledger.list({ pageSize: 2, caller: 'switch', pageToken }), {
      code: 'INVALID_PARAMS',
      fields: [
        { path: 'page_token', reason: 'was not made by this service; ask for the first page without it' },
      ],
    });
  }
  assert.throws(() => ledger.list({ pageSize: 2, caller: 'other', pageToken: nextPageToken }), {
    code: 'INVALID_PARAMS',
    message: 'page_token belongs to another query; ask for the first page without it',
  });
  assert.equal(ledger.list({ pageSize: 1, caller: 'switch', pageToken: nextPageToken }).tasks.length, 1);
});

test('a page size out of range is invalid', (t) => {
  const { ledger } = openTestLedger(t);
  for (const pageSize of [0, -1, 1.5, 101, Number.NaN]) {
    assert.throws(() => ledger.list({ pageSize }), {
      code: 'INVALID_PARAMS',
      fields: [{ path: 'page_size', reason: 'must be a whole number from 1 to 100' }],
    });
  }
});

test('a page gets no more rows in a context of many tasks', async (t) => {
  const { ledger, file } = openTestLedger(t);
  const query = { contextId: 'context-1', caller: 'switch', pageSize: 2 };
  const done = [{ event: { type: 'done', data: {} } }];
  const rows = async (tasks: number): Promise<number> => {
    await Promise.all(Array.from({ length: tasks }, () => ledger.accept(newTask(), done)));
    return rowsOf(file, (db) => listTasks(db, query));
  };
  assert.equal(await rows(3), await rows(50));
  assert.equal(ledger.list(query).totalSize, 53);
});
