import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { type JsonValue, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import { REQUEST } from '../testing/deletion.ts';
import { newTask, openTestLedger } from '../testing/harness.ts';

// A fault of one transaction, and what it must not do to others.

/** The number of transactions that begin while `work` runs. */
async function begun(t: TestContext, work: () => Promise<unknown>): Promise<number> {
  const exec = t.mock.method(DatabaseSync.prototype, 'exec');
  await work();
  exec.mock.restore();
  return exec.mock.calls.filter(({ arguments: [sql] }) => sql === 'BEGIN IMMEDIATE').length;
}

const DONE = { type: 'done', data: {} };
const nested = (depth: number): JsonValue =>
  Array.from({ length: depth }).reduce<JsonValue>((inner) => [inner], 'x');

test('a refused deletion of a context shares the commit of its batch', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  await ledger.accept(newTask());
  const unknown = { ...REQUEST, contextId: 'unknown' };
  const times = await begun(t, () =>
    Promise.all([
      ...Array.from({ length: 20 }, () => ledger.accept(newTask({ contextId: 'context-2' }))),
      assert.rejects(ledger.contexts.delete(REQUEST), { code: 'CONTEXT_IN_USE' }),
      assert.rejects(ledger.contexts.delete(unknown), { code: 'TASK_NOT_FOUND' }),
    ]),
  );
  assert.equal(times, 1);
});

test(
  'a task that is unfinished only in the open batch keeps its context from being deleted',
  deadline,
  async (t) => {
    const { ledger } = openTestLedger(t);
    const ended = newTask();
    await ledger.accept(ended, [{ event: DONE }]);
    const [, refused] = await Promise.allSettled([ledger.accept(newTask()), ledger.contexts.delete(REQUEST)]);
    assert.equal(refused.status === 'rejected' && refused.reason.code, 'CONTEXT_IN_USE');
  },
);

test('a listener of figures that throws does not leave the ledger behind its file', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  let isFaulty = true;
  ledger.figures.follow({
    counted: () => {
      if (isFaulty) throw new Error('a bug');
    },
  });
  const counts = [{ counter: 'tasks' as const, labels: ['none', 'done'], by: 1 }];
  const queued = { event: { type: 'queued', data: {} }, change: { counts } };
  const { task } = await ledger.accept(newTask(), [queued, { event: { type: 'started', data: {} } }]);
  isFaulty = false;
  assert.equal(ledger.get(task.id)?.state, 'working');
  const ending = await ledger.append(task.id, DONE);
  assert.ok(ending && TERMINAL_EVENTS.has(ending.type));
  assert.deepEqual(
    ledger.events(task.id).map(({ seq }) => seq),
    [1, 2, 3, 4],
  );
});

test(
  'a value that is nested too deep for SQLite stops neither retention nor deletion nor an end',
  deadline,
  async (t) => {
    const { ledger, clock } = openTestLedger(t);
    const deep = nested(1_100);
    const { id } = (await ledger.accept(newTask())).task;
    await ledger.append(id, { type: 'progress', data: { deep } });
    await ledger.saveCheckpoint(id, { deep });
    await ledger.append(id, DONE, { result: { deep } });
    await ledger.accept(newTask({ contextId: 'context-2' }), [{ event: DONE, change: { result: { deep } } }]);
    await ledger.contexts.delete(REQUEST);
    assert.equal(ledger.get(id), undefined);
    await ledger.outbox.advance(ledger.outbox.read(0, 100).at(-1)?.seq ?? 0);
    assert.equal(await ledger.prune(clock.now() + 1, 10), 1);
  },
);

test('a task that ends with its acceptance is known to the rest of its batch', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const task = newTask();
  const [accepted, late] = await Promise.all([
    ledger.accept(task, [{ event: DONE }]),
    ledger.append(task.id, { type: 'progress', data: {} }),
  ]);
  assert.deepEqual([accepted.task.state, late], ['completed', undefined]);
});
