import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { type OutboxEvent, systemIds } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { migrate } from '@hermes-fleet/store';
import { REQUEST } from '../testing/deletion.ts';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { openLedger } from './ledger.ts';
import { LEDGER } from './schema.ts';

const PART = {
  root_id: 'night-build',
  root_caller: 'operator',
  parent_task_id: 'build-1',
  parent_profile: 'switch',
};

const tasksWithRow = (file: string): unknown[] => {
  using db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('SELECT task FROM lineages').all();
  return rows.map(({ task }) => task);
};

const chainOf = ({ event: { data } }: OutboxEvent) =>
  Object.fromEntries(Object.entries(data).filter(([name]) => /^root_|^parent_/.test(name)));

test(
  'every event says to which chain its task belongs; one that entered is the root',
  deadline,
  async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    const entered = (await ledger.accept(newTask({ key: 'k', submitted: { priority: 'low' } }))).task;
    const part = (await ledger.accept(newTask({ lineage: PART }))).task;
    for (const { id } of [entered, part])
      await ledger.append(id, { type: 'done', data: { root_id: 'forged' } });
    const root = { root_id: 'k', root_caller: 'switch' };
    assert.deepEqual(ledger.outbox.read(0, 10).map(chainOf), [root, PART, root, PART]);
    assert.equal(ledger.outbox.read(0, 1)[0]?.event.data.priority, 'low');
    assert.deepEqual([entered.lineage, part.lineage], [undefined, PART]);
    const again = await reopen();
    assert.deepEqual([again.get(entered.id)?.lineage, again.get(part.id)?.lineage], [undefined, PART]);
    assert.deepEqual(again.outbox.read(1, 3).map(chainOf), [PART, root, PART]);
  },
);

test('the events of an erased task still say it, and nothing of it stays', deadline, async (t) => {
  const { ledger, file } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask({ lineage: PART }))).task;
  await ledger.append(id, { type: 'done', data: {} });
  await ledger.accept(newTask({ contextId: 'other' }));
  const before = ledger.outbox.read(0, 10);
  await ledger.contexts.delete(REQUEST);
  assert.deepEqual(ledger.outbox.read(0, 10), before);
  await ledger.outbox.advance(2);
  using db = new DatabaseSync(file, { readOnly: true });
  for (const table of ['lineages', 'erased_events'])
    assert.equal(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n, 0, table);
});

test('only a task of a chain has a row for it', deadline, async (t) => {
  const { ledger, file } = openTestLedger(t);
  await ledger.accept(newTask());
  await ledger.accept(newTask({ lineage: PART }));
  assert.deepEqual(tasksWithRow(file), [2]);
});

test('after step 11, the events of older tasks have their root; its caller is not known', deadline, (t) => {
  const file = join(tempDir(t, { closeFirst: () => ledger.close() }), 'ledger.db');
  using db = new DatabaseSync(file);
  migrate(db, file, { ...LEDGER, migrations: LEDGER.migrations.slice(0, 10) });
  db.exec(`INSERT INTO meta VALUES ('ledger_id', 'made-by-10'), ('profile', 'neo')`);
  const parent = { task_id: 'build-1', profile: 'switch' };
  const deep = `{"parts":[{"data":{"task":{"root_id":"r"}}}],"metadata":${'{"a":'.repeat(1_200)}1${'}'.repeat(1_200)}}`;
  const inPart = (task: JsonObject): string => JSON.stringify({ parts: [{ text: 'x' }, { data: { task } }] });
  const tasks: readonly [message: string, part: number | null, dispatch: string | null][] = [
    [inPart({ root_id: 'r', parent }), 1, null],
    ['{}', null, JSON.stringify({ task: { root_id: 'r', path: ['switch'] } })],
    [inPart({ path: ['switch'] }), 1, null],
    [deep, 0, null],
    [inPart({ root_id: 7, parent: 'odd' }), 1, null],
    [inPart({ root_id: 'r', parent }), 1, null],
  ];
  const insert = db.prepare(`INSERT INTO tasks VALUES (?1, ?5, 'c', 'switch', ?6, 'f', NULL, 1, ?2, ?3, ?4)`);
  for (const [at, [message, part, dispatch]] of tasks.entries()) {
    insert.run(at + 1, part, dispatch, message, `t${at + 1}`, `k${at + 1}`);
    db.exec(`INSERT INTO events VALUES (${20 - at}, ${at + 1}, 'submitted', 1, '{}')`);
  }
  // The events of the last one are published, and it has ended.
  db.exec(`INSERT INTO erased_events VALUES (30, 'gone', 'done', 1, '{}', 'k', 'switch', 'c', NULL)`);
  db.exec('UPDATE outbox SET cursor = 15, counted_to = 15');
  db.close();
  const ledger = openLedger({ file, profile: 'neo', clock: manualClock(), ids: systemIds, log: silentLog });
  assert.deepEqual(
    ledger.outbox.read(15, 10).map((each) => [each.event.subject, chainOf(each)]),
    [
      ['t5', { root_id: 'k5', root_caller: 'switch' }],
      ['t4', { root_id: 'k4', root_caller: 'switch' }],
      ['t3', { root_id: 'k3', root_caller: null }],
      ['t2', { root_id: 'r', root_caller: null }],
      ['t1', { root_id: 'r', root_caller: null, parent_task_id: 'build-1', parent_profile: 'switch' }],
      ['gone', { root_id: 'k', root_caller: 'switch' }],
    ],
  );
  assert.deepEqual(tasksWithRow(file), [1, 2, 3]);
});
