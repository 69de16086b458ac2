import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { hasCode } from '@hermes-fleet/protocol/testing';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { FollowingEvent } from './types.ts';

const QUEUED: FollowingEvent = { event: { type: 'queued', data: { lane: 'own' } } };
const STARTED: FollowingEvent = {
  event: { type: 'started', data: {} },
  change: { resumes: 2, counts: [{ counter: 'admissions', labels: ['own'], by: 1 }] },
};
const BLOCKED: FollowingEvent = {
  event: { type: 'blocked', data: {} },
  change: {
    result: { status: 'blocked' },
    counts: [{ counter: 'tasks', labels: ['none', 'blocked'], by: 1 }],
  },
};

test('the events that follow an acceptance are stored with it, in order', async (t) => {
  const { ledger, file, reopen } = openTestLedger(t);
  const counted: unknown[] = [];
  ledger.figures.follow({ counted: (counts) => counted.push(...counts) });
  const { task, created } = await ledger.accept(newTask(), [QUEUED, STARTED]);
  assert.deepEqual([created, task.state, task.resumes, task.lastSeq], [true, 'working', 2, 3]);
  assert.deepEqual(
    ledger.events(task.id).map(({ seq, type, data }) => [seq, type, data]),
    [
      [1, 'submitted', {}],
      [2, 'queued', { lane: 'own' }],
      [3, 'started', {}],
    ],
  );
  assert.deepEqual(counted, STARTED.change?.counts);
  assert.deepEqual(ledger.figures.totals(), STARTED.change?.counts);
  assert.equal(ledger.outbox.backlog().count, 3);
  assert.deepEqual(ledger.get(task.id), task);
  using db = new DatabaseSync(file, { readOnly: true });
  assert.equal(db.prepare('SELECT count(*) AS n FROM unfinished').get()?.n, 1);
  assert.deepEqual((await reopen()).get(task.id), task);
});

test('a task that is blocked when it is accepted has ended, and its key is free', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const ended: string[] = [];
  ledger.figures.follow({ ended: (id) => ended.push(id) });
  const { task } = await ledger.accept(newTask({ key: 'k' }), [BLOCKED, STARTED]);
  assert.deepEqual([task.state, task.result], ['rejected', { status: 'blocked' }]);
  assert.deepEqual(
    ledger.events(task.id).map(({ type }) => type),
    ['submitted', 'blocked'],
    'nothing follows the end',
  );
  assert.deepEqual([ended, ledger.unfinished()], [[task.id], []]);
  assert.equal(ledger.findByKey('switch', 'k'), undefined);
  assert.equal(await ledger.append(task.id, { type: 'progress', data: {} }), undefined);
  assert.deepEqual((await reopen()).get(task.id), task);
});

test('a key that is bound returns its task, whatever follows', async (t) => {
  const { ledger } = openTestLedger(t);
  const { task } = await ledger.accept(newTask({ key: 'k' }), [QUEUED]);
  const [again, conflict] = await Promise.allSettled([
    ledger.accept(newTask({ key: 'k' }), [BLOCKED]),
    ledger.accept(newTask({ key: 'k', fingerprint: 'f2' }), [BLOCKED]),
  ]);
  assert.deepEqual(again.status === 'fulfilled' && again.value, { task, created: false });
  assert.ok(conflict.status === 'rejected' && conflict.reason.code === 'TASK_ID_CONFLICT');
  assert.deepEqual(ledger.findByKey('switch', 'k'), { task, fingerprint: 'f1' });
  assert.equal(ledger.list({ pageSize: 1 }).totalSize, 1);
  assert.deepEqual(ledger.figures.totals(), []);
});

test('an acceptance with an invalid event stores nothing', async (t) => {
  const { ledger } = openTestLedger(t);
  const wrong: FollowingEvent[] = [
    { event: { type: 'lunch', data: {} } },
    { event: { type: 'queued', data: {} }, change: { state: 'completed' } },
    { event: { type: 'queued', data: {} }, change: { result: {} } },
  ];
  for (const event of wrong)
    await assert.rejects(ledger.accept(newTask(), [QUEUED, event]), hasCode('INTERNAL'));
  assert.equal(ledger.list({ pageSize: 1 }).totalSize, 0);
});

test('a dispatch that is a part of its message is stored once', async (t) => {
  const { ledger, file, reopen } = openTestLedger(t);
  const dispatch = { type: 'TASK_DISPATCH', task: { task_id: 'k', conversation: 'c' }, brief: 'größer ✓' };
  const parts: JsonObject[] = [
    { text: 'hello' },
    { data: { type: 'note' } },
    { data: structuredClone(dispatch) },
  ];
  const accepted = [
    newTask({ dispatch, message: { messageId: 'm', parts: [{ data: dispatch }] } }),
    newTask({ dispatch, message: { messageId: 'm', parts } }),
    newTask({ dispatch, message: { messageId: 'm', parts: [{ text: 'brief' }] } }),
    newTask({ dispatch, message: { messageId: 'm' } }),
  ];
  for (const task of accepted) await ledger.accept(task);
  using db = new DatabaseSync(file, { readOnly: true });
  assert.deepEqual(
    db
      .prepare('SELECT dispatch_part AS part, dispatch IS NULL AS once FROM tasks ORDER BY n')
      .all()
      .map(({ part, once }) => [part, once]),
    [
      [0, 1],
      [2, 1],
      [null, 0],
      [null, 0],
    ],
  );
  const again = await reopen();
  for (const { id, message } of accepted) {
    assert.deepEqual(again.get(id)?.dispatch, dispatch);
    assert.deepEqual(again.get(id)?.message, message);
  }
});

test('a listener that throws does not leave the ledger behind the events of an acceptance', async (t) => {
  const { ledger } = openTestLedger(t);
  ledger.figures.follow({
    counted: () => {
      throw new Error('the listener failed');
    },
  });
  const counted: FollowingEvent = { ...QUEUED, change: STARTED.change };
  const { task } = await ledger.accept(newTask(), [counted, STARTED]);
  assert.equal(ledger.outbox.backlog().count, 3);
  assert.equal(ledger.get(task.id)?.lastSeq, 3);
});
