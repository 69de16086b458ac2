import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { openChain } from '../../testing/store/chain.ts';
import { decided, payload } from '../../testing/store/harness.ts';
import type { AuditHead } from '../control/audit-verifier.ts';
import type { ControlStore } from '../control/control-store.ts';

const accept = async (store: ControlStore, published?: AuditHead): Promise<AuditHead> => {
  const { broken = { seq: 1, reason: 'nothing' } } = await store.verify();
  return store.verifier().accept({
    caller: 'operator',
    reason: 'a test',
    broken,
    ...(published && { published: { store: store.id, ...published } }),
  });
};

const BROKEN: readonly [name: string, sql: string, again: string][] = [
  [
    'a changed record',
    `UPDATE audit SET record = replace(record, '"pause"', '"resume"') WHERE seq = 5`,
    `UPDATE audit SET record = replace(record, '"resume"', '"switch"') WHERE seq = 5`,
  ],
  [
    'a changed record, and a later one then',
    `UPDATE audit SET record = record || ' ' WHERE seq = 5`,
    `UPDATE audit SET record = record || ' ' WHERE seq = 9`,
  ],
  ['a changed hash', 'UPDATE audit SET hash = upper(hash) WHERE seq = 5', 'DELETE FROM audit WHERE seq = 5'],
  ['deleted records', 'DELETE FROM audit WHERE seq IN (4, 6)', 'DELETE FROM audit WHERE seq = 5'],
  ['a deleted beginning', 'DELETE FROM audit WHERE seq < 3', 'DELETE FROM audit WHERE seq = 3'],
  ['a tail cut off', 'DELETE FROM audit WHERE seq > 8', 'DELETE FROM audit WHERE seq = 8'],
  ['everything cut off', 'DELETE FROM audit', 'DELETE FROM audit WHERE seq = 11'],
];

for (const [name, sql, again] of BROKEN) {
  test(`${name} is accepted as it is, and what changes then is found`, deadline, async (t) => {
    const { tamper, reopen } = await openChain(t);
    const run = (text: string) => (db: DatabaseSync) => void assert.ok(db.prepare(text).run().changes > 0);
    tamper(run(sql));
    const store = await reopen();
    assert.equal((await store.verify()).ok, false);
    const verifier = store.verifier();
    const { broken } = await verifier.run();
    assert.ok(broken);
    // Attempts go on while the audit is broken.
    await decided(store, payload({ decision_id: 'meanwhile' }));
    const head = await verifier.accept({ caller: 'operator', reason: 'a test', broken });
    assert.deepEqual(store.head(), head);
    const record = store.audit(head.seq - 1, 1)[0]?.record;
    assert.deepEqual([record?.['kind'], record?.['broken']], ['accept', broken]);
    for (const report of [await verifier.run(), await store.verify(), await (await reopen()).verify()]) {
      assert.deepEqual([report.ok, report.broken, report.head], [true, undefined, head]);
      assert.deepEqual(
        report.accepted?.map(({ seq, reason }) => [seq, reason]),
        [[head.seq, 'a test']],
      );
    }
    tamper(run(again));
    assert.equal((await (await reopen()).verify()).ok, false);
  });
}

test('after a lost tail the numbers go on above those that were published', deadline, async (t) => {
  const { store, tamper, reopen } = await openChain(t);
  const published = store.head();
  tamper((db) => {
    db.exec(`DELETE FROM audit WHERE seq > 4; UPDATE sqlite_sequence SET seq = 4 WHERE name = 'audit'`);
    db.exec('DELETE FROM decisions WHERE attempt_seq > 4');
  });
  const restored = await reopen();
  assert.deepEqual((await restored.verify()).ok, true);
  assert.equal((await restored.verify({ known: published })).ok, false);
  const head = await accept(restored, published);
  assert.equal(head.seq, published.seq + 1);
  await decided(restored, payload({ decision_id: 'next' }));
  assert.equal(restored.head().seq, published.seq + 2);
  const report = await restored.verify();
  assert.deepEqual([report.ok, report.accepted?.[0]?.published], [true, published]);
  // The published head is replaced by a newer one, and stays missing until then.
  assert.deepEqual((await restored.verify({ known: published })).broken, {
    seq: published.seq,
    reason: 'it was published, and is gone',
  });
});

test('what an acceptance does not follow, it does not cover', deadline, async (t) => {
  const { tamper, reopen } = await openChain(t);
  const store = await reopen();
  await accept(store);
  tamper((db) => void db.exec('DELETE FROM audit WHERE seq = 7'));
  assert.equal((await (await reopen()).verify()).broken?.seq, 7);
});

test('an unreadable file is not accepted', deadline, async (t) => {
  const { store, tamper } = await openChain(t);
  tamper((db) => void db.exec('UPDATE audit SET seq = 9007199254740993 WHERE seq = 10'));
  await assert.rejects(accept(store), { code: 'CONFIG_INVALID', message: /restore a backup/ });
});
