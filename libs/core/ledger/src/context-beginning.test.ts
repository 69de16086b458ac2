import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { plansOf } from '../testing/reading.ts';
import { findBeginning, findLatest } from './task-rows.ts';

const blocked = { event: { type: 'blocked', data: {} }, change: { result: {} } } as const;

test("a context began with its caller's first task, and for a caller without one with that of another", async (t) => {
  const { ledger, clock } = openTestLedger(t);
  const begun = (caller: string): unknown => ledger.contexts.beginning('context-1', caller)?.name;
  assert.equal(begun('switch'), undefined);
  const { task } = await ledger.accept(newTask({ submitted: { name: 'first' } }), [blocked]);
  await ledger.accept(newTask({ submitted: { name: 'second' } }));
  await ledger.accept(newTask({ contextId: 'context-2', submitted: { name: 'elsewhere' } }));
  assert.deepEqual([begun('switch'), begun('desk')], ['first', 'first']);
  const latest = (caller: string): unknown => ledger.contexts.latest('context-1', caller)?.name;
  assert.deepEqual([latest('switch'), latest('desk')], ['second', undefined]);
  await ledger.accept(newTask({ caller: 'desk', submitted: { name: 'of desk' } }));
  assert.deepEqual([begun('switch'), begun('desk'), begun('other')], ['first', 'of desk', 'of desk']);
  await ledger.outbox.advance(ledger.get(task.id)?.lastSeq ?? 0);
  clock.advance(1);
  assert.equal(await ledger.prune(clock.now(), 10), 1);
  assert.equal(begun('switch'), 'second');
});

test('a task whose dispatch is of another version begins no context', async (t) => {
  const { ledger } = openTestLedger(t);
  const begun = (caller: string): unknown => ledger.contexts.beginning('context-1', caller)?.name;
  for (const caller of ['desk', 'switch']) await ledger.accept(newTask({ caller, submitted: {} }), [blocked]);
  assert.equal(begun('switch'), undefined);
  await ledger.accept(newTask({ caller: 'other', submitted: { name: 'of other' } }));
  assert.equal(begun('switch'), 'of other');
  await ledger.accept(newTask({ submitted: { name: 'first' } }));
  assert.deepEqual([begun('switch'), begun('desk')], ['first', 'of other']);
  await ledger.accept(newTask({ submitted: {} }), [blocked]);
  assert.equal(ledger.contexts.latest('context-1', 'switch')?.name, 'first', 'nor is it the last one');
});

test('the beginning of a context is found in the index, whatever its size', (t) => {
  const { file } = openTestLedger(t);
  const plans = plansOf(file, (db) => findBeginning(db, 'context-1', 'switch'));
  assert.deepEqual(
    plansOf(file, (db) => findLatest(db, 'context-1', 'switch')),
    [[...(plans[0] ?? []).slice(0, 5)]],
  );
  assert.deepEqual(plans, [
    [
      'SEARCH e USING INDEX events_of_task (task=?)',
      'SCALAR SUBQUERY 2',
      'SEARCH tasks USING COVERING INDEX tasks_of_context (context_id=? AND caller=?)',
      'CORRELATED SCALAR SUBQUERY 1',
      'SEARCH events USING INDEX events_of_task (task=?)',
      'SCALAR SUBQUERY 4',
      'SEARCH tasks USING COVERING INDEX tasks_of_context (context_id=?)',
      'CORRELATED SCALAR SUBQUERY 3',
      'SEARCH events USING INDEX events_of_task (task=?)',
    ],
  ]);
});
