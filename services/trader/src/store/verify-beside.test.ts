import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { openChain, RECORDS } from '../../testing/store/chain.ts';
import { decided, openSeeded, payload } from '../../testing/store/harness.ts';

test('the triggers refuse changes that only a tamperer makes', deadline, async (t) => {
  const { store, file } = await openChain(t);
  using db = new DatabaseSync(file, { timeout: 2000 });
  for (const sql of [
    `UPDATE audit SET record = '{}' WHERE seq = 3`,
    'UPDATE audit SET seq = 20 WHERE seq = 3',
    'DELETE FROM audit WHERE seq = 10',
    'DELETE FROM audit',
    `INSERT OR REPLACE INTO audit VALUES (3, '{}', 'x')`,
    `REPLACE INTO audit VALUES (10, '{}', 'x')`,
    `UPDATE OR REPLACE audit SET seq = 4 WHERE seq = 3`,
    `INSERT INTO audit VALUES (-1, '{}', 'x')`,
    `INSERT INTO audit VALUES (12, '{}', 'x')`,
  ])
    assert.throws(() => db.exec(sql), /audit records (cannot be|are added at the end)/, sql);
  assert.deepEqual(await store.verify(), { ok: true, records: RECORDS, head: store.head() });
});

test('verification blocks no writes, and ends although the chain grows', deadline, async (t) => {
  const { store } = await openSeeded(t);
  await Promise.all(Array.from({ length: 1000 }, () => decided(store, payload())));
  const known = store.head();
  let ended = false;
  const report = store.verify({ known }).then((value) => {
    ended = true;
    return value;
  });
  let decisions = 0;
  while (!ended) {
    await decided(store, payload());
    decisions += 1;
  }
  assert.ok(decisions > 3, `${decisions} decisions while it verified`);
  const { ok, records, head } = await report;
  assert.deepEqual([ok, records], [true, head.seq]);
  assert.ok(records >= 1001);
});

test('an aborted verification rejects with the reason', deadline, async (t) => {
  const { store } = await openChain(t);
  const reason = new Error('the caller left');
  const controller = new AbortController();
  const walking = store.verify({ signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(walking, reason);
  const closing = store.verify();
  await store.close();
  await assert.rejects(closing, { code: 'SHUTTING_DOWN' });
});
