import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { plansOf } from '../testing/reading.ts';
import { findLatestResults } from './task-rows.ts';

const end = (name: string) => ({ event: { type: 'done', data: {} }, change: { result: { name } } });

test('the latest results are those of the last ended tasks of a context and caller, the latest end first', async (t) => {
  const { ledger } = openTestLedger(t);
  const names = (limit: number): unknown[] =>
    ledger.contexts.latestResults('context-1', 'switch', limit).map(({ name }) => name);
  assert.deepEqual(names(10), []);
  await ledger.accept(newTask(), [end('a')]);
  const { id } = (await ledger.accept(newTask())).task;
  await ledger.accept(newTask(), [end('c')]);
  await ledger.accept(newTask({ caller: 'other' }), [end('of another caller')]);
  await ledger.accept(newTask({ contextId: 'context-2' }), [end('of another context')]);
  await ledger.accept(newTask(), [{ event: { type: 'canceled', data: {} } }]);
  await ledger.accept(newTask());
  assert.deepEqual(names(10), ['c', 'a']);
  await ledger.append(id, end('b').event, end('b').change);
  assert.deepEqual(names(10), ['b', 'c', 'a']);
  assert.deepEqual([names(2), names(3), names(4)], [['c'], ['b', 'c'], ['b', 'c', 'a']]);
  // Those that wait do not count, however many they are.
  for (let waiting = 0; waiting < 20; waiting += 1) await ledger.accept(newTask());
  assert.deepEqual(names(4), ['b', 'c', 'a']);
});

test('the latest results are found in the index, whatever the size of the context', (t) => {
  const { file } = openTestLedger(t);
  const plans = plansOf(file, (db) => findLatestResults(db, 'context-1', 'switch', 10));
  assert.deepEqual(plans, [
    [
      'SEARCH t USING COVERING INDEX tasks_of_context (context_id=? AND caller=?)',
      'SEARCH e USING INTEGER PRIMARY KEY (rowid=?)',
    ],
  ]);
});
