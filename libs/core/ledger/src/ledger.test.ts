import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenEntry } from '@hermes-fleet/protocol/ports';
import { START } from '@hermes-fleet/protocol/testing';
import { newTask, openTestLedger } from '../testing/harness.ts';

test('an accepted task and its submitted event are stored, also after a restart', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const wanted = newTask({ key: 'k', dispatch: { brief: 'größer ✓' } });
  const { task, created } = await ledger.accept(wanted);
  assert.equal(created, true);
  assert.deepEqual(task, {
    id: wanted.id,
    contextId: 'context-1',
    caller: 'switch',
    key: 'k',
    message: wanted.message,
    dispatch: { brief: 'größer ✓' },
    state: 'submitted',
    result: undefined,
    resumes: 0,
    createdAt: START,
    updatedAt: START,
    lastSeq: 1,
  });
  const again = await reopen();
  assert.deepEqual(again.get(task.id), task);
  assert.deepEqual(again.events(task.id), [
    { seq: 1, taskId: task.id, type: 'submitted', at: START, data: {} },
  ]);
  assert.equal(again.id, ledger.id);
  assert.equal(again.get('nobody'), undefined);
});

test('one hundred concurrent accepts of one key create one task', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const accepts = await Promise.all(
    Array.from({ length: 100 }, () => ledger.accept(newTask({ key: 'same' }))),
  );
  assert.equal(accepts.filter(({ created }) => created).length, 1);
  assert.equal(new Set(accepts.map(({ task }) => task.id)).size, 1);
  const later = await (await reopen()).accept(newTask({ key: 'same' }));
  assert.equal(later.created, false);
  assert.equal(later.task.id, accepts[0]?.task.id);
});

test('a key is unique per caller and bound to one payload', async (t) => {
  const { ledger } = openTestLedger(t);
  await ledger.accept(newTask({ key: 'k', caller: 'switch' }));
  assert.equal((await ledger.accept(newTask({ key: 'k', caller: 'other' }))).created, true);
  await assert.rejects(ledger.accept(newTask({ key: 'k', caller: 'switch', fingerprint: 'f2' })), {
    code: 'TASK_ID_CONFLICT',
    fields: [{ path: 'task.task_id', reason: 'task_id "k" was used for another payload; use a new one' }],
  });
  assert.equal(ledger.list({ pageSize: 10 }).totalSize, 2);
});

for (const ending of ['blocked', 'done', 'partial', 'error', 'canceled']) {
  test(`after ${ending} the key is ${ending === 'blocked' ? 'free' : 'still bound'}`, async (t) => {
    const { ledger } = openTestLedger(t);
    const { task } = await ledger.accept(newTask({ key: 'k' }));
    await ledger.append(task.id, { type: ending, data: {} });
    const again = await ledger.accept(newTask({ key: 'k' }));
    assert.equal(again.created, ending === 'blocked');
    if (ending !== 'blocked') return;
    const other = await ledger.accept(newTask({ key: 'k', caller: 'x' }));
    await ledger.append(task.id, { type: 'blocked', data: {} });
    assert.equal((await ledger.accept(newTask({ key: 'k' }))).task.id, again.task.id);
    assert.equal(other.created, true);
  });
}

test('append applies the change; text neither changes the state nor updates the task', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  clock.advance(10);
  const started = await ledger.append(id, { type: 'started', data: { tier: 'haiku' } });
  assert.deepEqual(started, { seq: 2, taskId: id, type: 'started', at: START + 10, data: { tier: 'haiku' } });
  clock.advance(10);
  await ledger.append(id, { type: 'text', data: { text: 'a' } });
  assert.deepEqual(
    { state: ledger.get(id)?.state, updatedAt: ledger.get(id)?.updatedAt, lastSeq: ledger.get(id)?.lastSeq },
    { state: 'working', updatedAt: START + 10, lastSeq: 3 },
  );
  await ledger.append(id, { type: 'progress', data: {} }, { state: 'input_required', resumes: 2 });
  assert.equal(ledger.get(id)?.state, 'input_required');
  await ledger.append(id, { type: 'resumed', data: {} }, { state: 'queued' });
  assert.equal(ledger.get(id)?.resumes, 2);
  await ledger.append(id, { type: 'done', data: {} }, { result: { status: 'done' } });
  const { state, result, updatedAt } = ledger.get(id) ?? {};
  assert.deepEqual(
    { state, result, updatedAt },
    { state: 'completed', result: { status: 'done' }, updatedAt: START + 20 },
  );
});

test('the first terminal event wins, also inside one batch', async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const [done, canceled, late] = await Promise.all([
    ledger.append(id, { type: 'done', data: {} }, { result: { status: 'done' } }),
    ledger.append(id, { type: 'canceled', data: {} }, { result: { status: 'error' } }),
    ledger.append(id, { type: 'text', data: {} }),
  ]);
  assert.equal(done?.type, 'done');
  assert.equal(canceled, undefined);
  assert.equal(late, undefined);
  assert.deepEqual(ledger.get(id)?.result, { status: 'done' });
  assert.deepEqual(
    ledger.events(id).map(({ type }) => type),
    ['submitted', 'done'],
  );
});

test('an unknown event and one that contradicts its state are rejected without a change', async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const wrong = [
    ledger.append(id, { type: 'progress', data: {} }, { state: 'completed' }),
    ledger.append(id, { type: 'done', data: {} }, { state: 'working' }),
    ledger.append(id, { type: 'lunch', data: {} }),
    ledger.append('nobody', { type: 'done', data: {} }),
  ];
  const outcomes = await Promise.allSettled(wrong);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message),
    [
      'a "progress" event cannot leave a task completed',
      'a "done" event cannot leave a task working',
      '"lunch" is neither a lifecycle event nor "text"',
      'task nobody is not known',
    ],
  );
  assert.equal(ledger.events(id).length, 1);
});

test('events are read in order, from a position, in pages', async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const other = (await ledger.accept(newTask())).task;
  for (const type of ['queued', 'started', 'text']) await ledger.append(id, { type, data: {} });
  assert.deepEqual(
    ledger.events(id, 1).map(({ seq }) => seq),
    [3, 4, 5],
  );
  assert.deepEqual(
    ledger.events(id, 1, 2).map(({ seq }) => seq),
    [3, 4],
  );
  assert.equal(other.lastSeq, 2);
});

test('unfinished tasks are found after a restart, oldest first', async (t) => {
  const { ledger, clock, reopen } = openTestLedger(t);
  const tasks = [];
  for (let i = 0; i < 3; i += 1) {
    tasks.push((await ledger.accept(newTask())).task.id);
    clock.advance(1);
  }
  const [first = '', second = '', third = ''] = tasks;
  await ledger.append(first, { type: 'progress', data: {} });
  await ledger.append(second, { type: 'done', data: {} });
  assert.deepEqual(
    (await reopen()).unfinished().map(({ id }) => id),
    [first, third],
  );
});

test('peers are stored by agent id', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  await ledger.savePeer({ agentId: 'trinity', announce: { seq: 1 }, receivedAt: 1 });
  await ledger.savePeer({ agentId: 'morpheus', announce: { seq: 1 }, receivedAt: 2 });
  await ledger.savePeer({ agentId: 'trinity', announce: { seq: 2 }, receivedAt: 3 });
  await ledger.savePeer({ agentId: 'tank', announce: {}, receivedAt: 4, caller: 'operator' });
  const again = await reopen();
  assert.deepEqual(again.peers(), [
    { agentId: 'morpheus', announce: { seq: 1 }, receivedAt: 2 },
    { agentId: 'tank', announce: {}, receivedAt: 4, caller: 'operator' },
    { agentId: 'trinity', announce: { seq: 2 }, receivedAt: 3 },
  ]);
  for (const agentId of ['tank', 'trinity', 'nobody']) await again.forgetPeer(agentId);
  await again.savePeer({ agentId: 'morpheus', announce: {}, receivedAt: 5 });
  assert.deepEqual(again.peers(), [{ agentId: 'morpheus', announce: {}, receivedAt: 5 }]);
});

const spent = (tokens: number, source: TokenEntry['source']): TokenEntry => ({
  kind: 'own',
  inputTokens: tokens,
  outputTokens: 1,
  cacheReadTokens: 2,
  cacheWriteTokens: 3,
  source,
  model: 'offline/runbook',
});

test('a reservation is charged with its estimate until it is settled, also after a restart', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const [settled] = await Promise.all([
    ledger.tokens.reserve(id, spent(100, 'metered')),
    ledger.tokens.reserve(id, spent(200, 'metered')),
  ]);
  await ledger.tokens.settle(settled, spent(90, 'metered'));
  await ledger.tokens.add(id, { ...spent(7, 'reported'), kind: 'delegated' });
  const again = await reopen();
  assert.deepEqual(again.tokens.entries(id), [
    spent(90, 'metered'),
    spent(200, 'estimated'),
    { ...spent(7, 'reported'), kind: 'delegated' },
  ]);
  await assert.rejects(again.tokens.settle(settled, spent(1, 'metered')), {
    message: `token reservation ${settled} is not open`,
  });
  await assert.rejects(again.tokens.settle('x', spent(1, 'metered')), { code: 'INTERNAL' });
  await assert.rejects(again.tokens.reserve('nobody', spent(1, 'metered')), { code: 'TASK_NOT_FOUND' });
  assert.deepEqual(again.tokens.entries('nobody'), []);
});

test('prune removes only old, ended and published tasks', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  const old = (await ledger.accept(newTask({ key: 'old' }))).task.id;
  const running = (await ledger.accept(newTask({ key: 'running' }))).task.id;
  const held = await ledger.tokens.reserve(old, spent(1, 'metered'));
  await ledger.append(old, { type: 'text', data: {} });
  const done = await ledger.append(old, { type: 'done', data: {} });
  const unpublished = (await ledger.accept(newTask({ key: 'unpublished' }))).task.id;
  await ledger.append(unpublished, { type: 'done', data: {} });
  clock.advance(1000);
  const recent = (await ledger.accept(newTask({ key: 'recent' }))).task.id;
  await ledger.append(recent, { type: 'error', data: {} });

  assert.equal(await ledger.prune(START + 500, 100), 0, 'nothing is published yet');
  await ledger.outbox.advance(done?.seq ?? 0);
  assert.equal(await ledger.prune(START, 100), 0, 'no task is old enough');
  assert.equal(await ledger.prune(START + 500, 0), 0, 'the batch is the limit');
  assert.equal(await ledger.prune(START + 500, 100), 1);
  assert.equal(ledger.get(old), undefined);
  assert.deepEqual(ledger.events(old), []);
  await assert.rejects(ledger.tokens.settle(held, spent(1, 'metered')), { code: 'INTERNAL' });
  for (const id of [running, unpublished, recent]) assert.ok(ledger.get(id));
  assert.equal((await ledger.accept(newTask({ key: 'old' }))).created, true);
});

test('the contexts that have tasks are known, in pages, until their last task is pruned', async (t) => {
  const { ledger, clock } = openTestLedger(t);
  const ids = ['b', 'ä', 'a', 'b', 'C'];
  const tasks = await Promise.all(
    ids.map((contextId, at) => ledger.accept(newTask({ contextId, key: String(at) }))),
  );
  assert.deepEqual(ledger.contextIds('', 10), ['C', 'a', 'b', 'ä']);
  assert.deepEqual(
    [ledger.contextIds('', 2), ledger.contextIds('a', 2)],
    [
      ['C', 'a'],
      ['b', 'ä'],
    ],
  );
  assert.deepEqual(
    [ledger.hasContext('b'), ledger.hasContext('B'), ledger.hasContext('')],
    [true, false, false],
  );
  const first = await ledger.append(tasks[0]?.task.id ?? '', { type: 'done', data: {} });
  await ledger.outbox.advance(first?.seq ?? 0);
  clock.advance(1);
  await ledger.prune(clock.now(), 10);
  assert.equal(ledger.hasContext('b'), true, 'it has another task');
  const last = await ledger.append(tasks[3]?.task.id ?? '', { type: 'done', data: {} });
  await ledger.outbox.advance(last?.seq ?? 0);
  clock.advance(1);
  await ledger.prune(clock.now(), 10);
  assert.deepEqual([ledger.hasContext('b'), ledger.contextIds('a', 10)], [false, ['ä']]);
});

test('close commits pending writes; later calls fail', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const accepting = ledger.accept(newTask());
  const closing = ledger.close();
  const { task } = await accepting;
  await closing;
  await ledger.close();
  await assert.rejects(ledger.accept(newTask()), { code: 'SHUTTING_DOWN' });
  assert.throws(() => ledger.get(task.id), { code: 'SHUTTING_DOWN' });
  assert.deepEqual((await reopen()).get(task.id), task);
});
