import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { JsonValue } from '@hermes-fleet/protocol';
import { START } from '@hermes-fleet/protocol/testing';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { Ledger, TaskRecord } from './types.ts';

const SUBTASKS = { caller: 'switch', results: 'delete' } as const;
const TOKENS = {
  kind: 'own',
  inputTokens: 3,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  source: 'estimated',
  model: 'm',
} as const;

const types = (ledger: Ledger, id: string): string[] => ledger.events(id).map(({ type }) => type);

test('the transactions of one batch see what the earlier ones changed', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const exec = t.mock.method(DatabaseSync.prototype, 'exec');
  const task = newTask({ key: 'k' });
  const { id } = task;
  const [accepted, copy, started, asked, early, answered, , reserved, done, late, lateReserve] =
    await Promise.allSettled([
      ledger.accept(task),
      ledger.accept(newTask({ key: 'k' })),
      ledger.append(id, { type: 'started', data: {} }),
      ledger.ask(id, { key: 'q', text: 'Which room?' }),
      ledger.ask(id, { key: 'q', text: 'Which room?' }),
      ledger.answer(id, { messageId: 'm', text: 'the blue one', message: {} }),
      ledger.saveCheckpoint(id, { step: 1 }),
      ledger.tokens.reserve(id, TOKENS),
      ledger.append(id, { type: 'done', data: {} }, { resumes: 3, result: { status: 'done' } }),
      ledger.append(id, { type: 'progress', data: {} }),
      ledger.tokens.reserve(id, TOKENS),
    ]);
  const statements = exec.mock.calls.map((call) => call.arguments[0]);
  assert.deepEqual(statements, ['BEGIN IMMEDIATE', 'COMMIT'], 'no transaction had to run again');
  assert.equal(accepted.status === 'fulfilled' && accepted.value.created, true);
  const known: TaskRecord | undefined = copy.status === 'fulfilled' ? copy.value.task : undefined;
  assert.deepEqual([known?.id, known?.state, known?.lastSeq], [id, 'submitted', 1]);
  const seqs = [started, done].map((each) => each.status === 'fulfilled' && each.value?.seq);
  assert.deepEqual(seqs, [2, 5]);
  assert.deepEqual(asked, early, 'a question that is open is asked once');
  assert.equal(answered.status === 'fulfilled' && answered.value.isNew, true);
  assert.equal(reserved.status, 'fulfilled');
  assert.deepEqual(late, { status: 'fulfilled', value: undefined }, 'nothing follows the end');
  assert.equal(lateReserve.status, 'rejected');
  const check = (each: Ledger): void => {
    assert.deepEqual(types(each, id), ['submitted', 'started', 'input_required', 'answered', 'done']);
    assert.deepEqual([each.unfinished(), each.list({ pageSize: 9 }).totalSize], [[], 1]);
    const { state, resumes, lastSeq } = each.get(id) ?? assert.fail();
    assert.deepEqual([state, resumes, lastSeq], ['completed', 3, 5]);
    assert.equal(each.loadCheckpoint(id), undefined, 'its checkpoint went with its end');
    assert.deepEqual(each.figures.spentBy(id), { tokens: 3, cacheTokens: 0 }, 'its reservation was closed');
    assert.equal(each.questions(id)[0]?.answer?.text, 'the blue one');
  };
  check(ledger);
  check(await reopen());
});

test('a context is erased in the batch in which its task ends', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  const { task } = await ledger.accept(newTask({ contextId: 'c' }));
  clock.advance(5);
  const [unfinished, , erased] = await Promise.allSettled([
    ledger.contexts.delete({ ...SUBTASKS, contextId: 'c' }),
    ledger.append(task.id, { type: 'done', data: {} }, { result: {} }),
    ledger.contexts.delete({ ...SUBTASKS, contextId: 'c' }),
  ]);
  assert.equal(unfinished.status === 'rejected' && unfinished.reason.code, 'CONTEXT_IN_USE');
  assert.equal(erased.status, 'fulfilled');
  const published = ledger.outbox.read(0, 10).map(({ seq, event }) => [seq, event.type, event.subject]);
  assert.deepEqual(published, [
    [1, 'dev.hermes-fleet.task.submitted.v1', task.id],
    [2, 'dev.hermes-fleet.task.done.v1', task.id],
  ]);
  assert.equal(ledger.outbox.backlog().count, 2);
  assert.deepEqual(
    [ledger.get(task.id), ledger.questions(task.id), ledger.unfinished()],
    [undefined, [], []],
  );
});

test('what is written for a removed task in its batch does not reach the next task', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask({ contextId: 'c' }))).task;
  const exec = t.mock.method(DatabaseSync.prototype, 'exec');
  const other = newTask({ caller: 'operator', contextId: 'd' });
  const [, erased, accepted, ...late] = await Promise.allSettled([
    ledger.append(id, { type: 'done', data: {} }, { result: {} }),
    ledger.contexts.delete({ ...SUBTASKS, contextId: 'c' }),
    ledger.accept(other),
    ledger.append(id, { type: 'text', data: {} }),
    ledger.append(id, { type: 'error', data: {} }),
    ledger.saveCheckpoint(id, { step: 1 }),
    ledger.tokens.reserve(id, TOKENS),
    ledger.tokens.add(id, TOKENS),
    ledger.ask(id, { key: 'q', text: 'Which room?' }),
  ]);
  const statements = exec.mock.calls.map((call) => call.arguments[0]);
  assert.deepEqual(statements, ['BEGIN IMMEDIATE', 'COMMIT'], 'one batch');
  assert.deepEqual([erased.status, accepted.status], ['fulfilled', 'fulfilled']);
  for (const each of late) assert.equal(each.status === 'rejected' && each.reason.code, 'TASK_NOT_FOUND');
  const again = await reopen();
  assert.deepEqual(types(again, other.id), ['submitted']);
  assert.equal(again.get(other.id)?.state, 'submitted');
  assert.deepEqual([again.tokens.entries(other.id), again.loadCheckpoint(other.id)], [[], undefined]);
});

test('a batch that is rolled back leaves no state, and its sequences are those of the next one', async (t) => {
  const { ledger } = openTestLedger(t);
  const { task } = await ledger.accept(newTask());
  const endless: Record<string, JsonValue> = {};
  endless.again = endless;
  const [first, broken, second] = await Promise.allSettled([
    ledger.append(task.id, { type: 'started', data: {} }),
    // It has no JSON, and is written after its event.
    ledger.append(task.id, { type: 'done', data: {} }, { result: endless }),
    ledger.append(task.id, { type: 'progress', data: {} }),
  ]);
  assert.equal(broken.status, 'rejected');
  const seqs = [first, second].map((each) => each.status === 'fulfilled' && each.value?.seq);
  assert.deepEqual(seqs, [2, 3]);
  assert.deepEqual(types(ledger, task.id), ['submitted', 'started', 'progress']);
  assert.equal(ledger.get(task.id)?.state, 'working');
});

test('a sequence is used once, also after its task was removed and the ledger was opened again', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const end = async (each: Ledger, contextId: string): Promise<number> => {
    const { task } = await each.accept(newTask({ contextId }));
    await each.append(task.id, { type: 'text', data: {} });
    return (await each.append(task.id, { type: 'done', data: {} }, { result: {} }))?.seq ?? assert.fail();
  };
  const erased = await end(ledger, 'erased');
  assert.equal(erased, 3);
  await ledger.contexts.delete({ ...SUBTASKS, contextId: 'erased' });
  const again = await reopen();
  assert.equal(
    await end(again, 'pruned'),
    6,
    'the file has the event of an erased task until it is published',
  );
  await again.outbox.advance(6);
  assert.equal(await again.prune(START + 1, 10), 1);
  assert.equal(await end(await reopen(), 'last'), 9, 'the cursor has passed the events of a pruned task');
});

test('a token reservation of a removed task is not that of a later call', async (t) => {
  const { ledger } = openTestLedger(t);
  const { task } = await ledger.accept(newTask());
  const first = await ledger.tokens.reserve(task.id, TOKENS);
  await ledger.append(task.id, { type: 'canceled', data: {} }, { result: {} });
  await ledger.outbox.advance(2);
  assert.equal(await ledger.prune(START + 1, 10), 1);
  const next = (await ledger.accept(newTask())).task.id;
  await ledger.tokens.reserve(next, TOKENS);
  await assert.rejects(ledger.tokens.settle(first, { ...TOKENS, inputTokens: 9 }), { code: 'INTERNAL' });
  assert.deepEqual(ledger.tokens.entries(next), [TOKENS]);
});
