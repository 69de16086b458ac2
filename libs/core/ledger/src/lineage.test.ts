import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { OutboxEvent } from '@hermes-fleet/protocol/ports';
import { deadline } from '@hermes-fleet/protocol/testing';
import { REQUEST } from '../testing/deletion.ts';
import { newTask, openTestLedger } from '../testing/harness.ts';

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
