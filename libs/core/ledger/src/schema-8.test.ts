import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, START, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { migrate } from '@hermes-fleet/store';
import { newTask } from '../testing/harness.ts';
import { openLedger } from './ledger.ts';
import { LEDGER } from './schema.ts';
import type { Ledger } from './types.ts';

const HOUR_MS = 3_600_000;
const DISPATCH = '{"type":"TASK_DISPATCH","task":{"task_id":"k"},"brief":"größer"}';
const IN_PART = `{"messageId":"m","parts":[{"data":${DISPATCH}}]}`;

/** Rows of a ledger of schema 7. */
const ROWS = `
  INSERT INTO meta VALUES ('ledger_id', 'made-by-7'), ('profile', 'neo');
  INSERT INTO tasks VALUES
    ('t3', 'c1', 'switch', 'k3', NULL, 'completed', 1, 10, ${START}, 5),
    ('t1', 'c1', 'switch', 'k1', 'trace', 'working', 2, 11, ${START - 5}, NULL),
    ('t2', 'c2', 'operator', 'k2', NULL, 'rejected', 0, 12, ${START - HOUR_MS}, 8),
    ('t4', 'c2', 'switch', 'k4', NULL, 'input_required', 0, 13, ${START}, NULL);
  INSERT INTO payloads VALUES
    ('t1', '{"text":"prose"}', '${DISPATCH}', NULL), ('t3', '${IN_PART}', '${DISPATCH}', '{"status":"done"}'),
    ('t2', '{"parts":[{"data":{"type":"other"}}]}', '${DISPATCH}', '{"status":"blocked"}'), ('t4', '{}', '{"d":4}', NULL);
  INSERT INTO idempotency VALUES ('switch', 'k3', 'f3', 't3'), ('switch', 'k1', 'f1', 't1'), ('switch', 'k4', 'f4', 't4');
  INSERT INTO events VALUES
    (1, 't3', 'submitted', 10, '{}'), (2, 't1', 'submitted', 11, '{"a":1}'), (3, 't3', 'text', 11, '{}'),
    (5, 't3', 'done', 12, '{}'), (6, 't2', 'submitted', 12, '{}'), (8, 't2', 'blocked', 13, '{}'),
    (9, 't4', 'submitted', 13, '{}'), (10, 't4', 'input_required', 14, '{}'), (11, 't1', 'text', 15, '{}');
  UPDATE sqlite_sequence SET seq = 20 WHERE name = 'events';
  UPDATE outbox SET cursor = 5;
  INSERT INTO erased_events VALUES (7, 'gone', 'done', 12, '{}', 'k', 'switch', 'c9', NULL);
  INSERT INTO checkpoints VALUES ('t1', '{"step":1}', 'list', 3), ('t3', '{"keep_after_end":true}', NULL, 1);
  INSERT INTO checkpoint_parts VALUES ('t1', 0, '{"part":"a"}'), ('t1', 1, '{"part":"b"}');
  INSERT INTO tokens VALUES
    (4, 't1', 0, 'own', 5, 6, 0, 0, 'estimated', 'm', 'opus'), (7, 't3', 1, 'own', 1, 2, 3, 4, 'metered', 'm', NULL);
  INSERT INTO questions VALUES ('t4', 'q', 10, 14, 'Which room?', NULL, NULL, NULL, NULL);
`;

function migrated(t: TestContext, change = ''): { ledger: Ledger; file: string } {
  const file = join(tempDir(t, { closeFirst: () => ledger.close() }), 'ledger.db');
  using db = new DatabaseSync(file);
  migrate(db, file, { ...LEDGER, migrations: LEDGER.migrations.slice(0, 7) });
  db.exec(ROWS + change);
  db.close();
  const ledger = openLedger({ file, profile: 'neo', clock: manualClock(), ids: systemIds, log: silentLog });
  return { ledger, file };
}

test('step 8 keeps every task with all that belongs to it', async (t) => {
  const { ledger } = migrated(t);
  const dispatch = JSON.parse(DISPATCH);
  assert.deepEqual(ledger.get('t1'), {
    id: 't1',
    contextId: 'c1',
    caller: 'switch',
    key: 'k1',
    state: 'working',
    message: { text: 'prose' },
    dispatch,
    result: undefined,
    resumes: 2,
    createdAt: 11,
    updatedAt: START - 5,
    lastSeq: 11,
    traceparent: 'trace',
  });
  const { state, result, message, resumes, lastSeq, dispatch: stored } = ledger.get('t3') ?? assert.fail();
  assert.deepEqual(
    [state, result, message, resumes, lastSeq, stored],
    ['completed', { status: 'done' }, JSON.parse(IN_PART), 1, 5, dispatch],
  );
  assert.deepEqual([ledger.get('t2')?.dispatch, ledger.get('t4')?.dispatch], [dispatch, { d: 4 }]);
  assert.deepEqual(
    ledger.unfinished().map(({ id }) => id),
    ['t1', 't4'],
  );
  assert.deepEqual(
    ledger.events('t1').map(({ seq, type, at, data }) => [seq, type, at, data]),
    [
      [2, 'submitted', 11, { a: 1 }],
      [11, 'text', 15, {}],
    ],
  );
  assert.deepEqual(ledger.loadCheckpoint('t1'), { step: 1, list: ['a', 'b'] });
  assert.deepEqual(ledger.keptCheckpoints(), [{ taskId: 't3', state: { keep_after_end: true } }]);
  assert.deepEqual(
    [...ledger.tokens.entries('t1'), ...ledger.tokens.entries('t3')].map(({ inputTokens, source }) => [
      inputTokens,
      source,
    ]),
    [
      [5, 'estimated'],
      [1, 'metered'],
    ],
  );
  assert.deepEqual(
    ledger.questions('t4').map(({ key, text, answer }) => [key, text, answer]),
    [['q', 'Which room?', undefined]],
  );
});

test('step 8 keeps a message that is nested deeper than SQLite reads', (t) => {
  const deep = `{"parts":[{"data":${DISPATCH}}],"metadata":${'{"a":'.repeat(1_200)}1${'}'.repeat(1_200)}}`;
  const { ledger } = migrated(t, `UPDATE payloads SET message = '${deep}' WHERE task_id = 't3';`);
  const { message, dispatch } = ledger.get('t3') ?? assert.fail();
  assert.deepEqual([JSON.stringify(message), dispatch], [deep, JSON.parse(DISPATCH)]);
});

test('after step 8, keys are bound, sequences go on, and reservations are settled', async (t) => {
  const { ledger } = migrated(t);
  assert.equal((await ledger.accept(newTask({ key: 'k3', fingerprint: 'f3' }))).task.id, 't3');
  await assert.rejects(ledger.accept(newTask({ key: 'k1', fingerprint: 'f3' })), {
    code: 'TASK_ID_CONFLICT',
  });
  const { task, created } = await ledger.accept(newTask({ caller: 'operator', key: 'k2' }));
  assert.deepEqual([created, task.lastSeq], [true, 21], 'a sequence is never used again');
  await ledger.tokens.settle('4', { ...(ledger.tokens.entries('t1')[0] ?? assert.fail()), inputTokens: 9 });
  assert.equal(ledger.tokens.entries('t1')[0]?.inputTokens, 9);
  assert.equal(await ledger.tokens.reserve('t1', ledger.tokens.entries('t1')[0] ?? assert.fail()), '8');
  const answer = { messageId: 'm', text: 'the blue one', message: {} };
  assert.equal((await ledger.answer('t4', answer)).isNew, true);
  await ledger.append('t1', { type: 'blocked', data: {} });
  assert.equal((await ledger.accept(newTask({ key: 'k1', fingerprint: 'new' }))).created, true);
});

test('after step 8, tasks are listed and counted, and what was not published is', async (t) => {
  const { ledger } = migrated(t);
  const ids = (query: Parameters<Ledger['list']>[0]): unknown => {
    const { tasks, totalSize } = ledger.list(query);
    return [tasks.map(({ id }) => id), totalSize];
  };
  assert.deepEqual(ids({ pageSize: 10 }), [['t3', 't4', 't1', 't2'], 4]);
  assert.deepEqual(ids({ pageSize: 1, caller: 'switch', updatedAfter: START }), [['t3'], 2]);
  assert.deepEqual(ids({ pageSize: 9, updatedAfter: START - HOUR_MS + 1 }), [['t3', 't4', 't1'], 3]);
  assert.deepEqual(ids({ pageSize: 9, updatedAfter: START - HOUR_MS }), [['t3', 't4', 't1', 't2'], 4]);
  assert.deepEqual(
    ledger.outbox.read(5, 10).map(({ seq, event }) => [seq, event.subject]),
    [
      [6, 't2'],
      [7, 'gone'],
      [8, 't2'],
      [9, 't4'],
      [10, 't4'],
    ],
  );
  assert.equal(ledger.outbox.backlog().count, 5);
  await ledger.outbox.advance(8);
  assert.equal(ledger.outbox.backlog().count, 2);
  assert.equal(await ledger.prune(START + 1, 10), 2);
  assert.deepEqual(ids({ pageSize: 9 }), [['t4', 't1'], 2]);
});

test('a page token of a task that is gone continues where it was', async (t) => {
  const { ledger } = migrated(t);
  const { nextPageToken } = ledger.list({ pageSize: 1 });
  await ledger.outbox.advance(8);
  await ledger.dropKeptCheckpoint('t3');
  assert.equal(await ledger.prune(START + 1, 10), 2);
  assert.deepEqual(
    ledger.list({ pageSize: 9, pageToken: nextPageToken }).tasks.map(({ id }) => id),
    ['t4', 't1'],
  );
});

test('a step 8 that fails leaves the file of schema 7', (t) => {
  const file = join(tempDir(t), 'ledger.db');
  using db = new DatabaseSync(file);
  migrate(db, file, { ...LEDGER, migrations: LEDGER.migrations.slice(0, 7) });
  db.exec(ROWS);
  db.exec(
    `PRAGMA foreign_keys = OFF; UPDATE tasks SET id = 't3-lost' WHERE id = 't3'; CREATE TABLE unfinished (a)`,
  );
  assert.throws(() => migrate(db, file, LEDGER), /unfinished already exists/);
  assert.equal(db.prepare('PRAGMA user_version').get()?.user_version, 7);
  assert.equal(db.prepare('SELECT count(*) AS n FROM payloads').get()?.n, 4);
});
