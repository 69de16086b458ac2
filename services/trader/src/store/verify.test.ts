import assert from 'node:assert/strict';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { openChain, RECORDS } from '../../testing/store/chain.ts';
import { decided, payload } from '../../testing/store/harness.ts';
import type { VerifyReport } from '../control/audit-verifier.ts';
import { chainHash } from './canonical.ts';

const all = (db: DatabaseSync) =>
  db
    .prepare('SELECT * FROM audit ORDER BY seq')
    .all()
    .map(({ seq, record, hash }) => ({ seq: Number(seq), record: String(record), hash: String(hash) }));

/** Rewrites the whole table with other rows. */
function rewrite(db: DatabaseSync, rows: readonly { record: string; hash: string }[]): void {
  db.exec('DELETE FROM audit');
  rows.forEach(({ record, hash }, at) => {
    db.prepare('INSERT INTO audit VALUES (?, ?, ?)').run(at + 1, record, hash);
  });
}

const run =
  (sql: string, ...params: SQLInputValue[]) =>
  (db: DatabaseSync) => {
    assert.ok(db.prepare(sql).run(...params).changes > 0, 'the tampering did nothing');
  };

const swap = (a: number, b: number) => (db: DatabaseSync) => {
  const rows = all(db);
  const [one, other] = [rows[a - 1], rows[b - 1]];
  assert.ok(one && other);
  rewrite(
    db,
    rows.map((row) => (row === one ? other : row === other ? one : row)),
  );
};

/** Inserts correctly hashed records after the first `after` records. */
const insert = (after: number, records: readonly string[], junk?: string) => (db: DatabaseSync) => {
  const rows = all(db);
  let hash = rows[after - 1]?.hash ?? '0'.repeat(64);
  const inserted = records.map((record) => {
    hash = junk ?? chainHash(hash, record);
    return { record, hash };
  });
  rewrite(db, [...rows.slice(0, after), ...inserted, ...rows.slice(after)]);
};

const rehash = (from: number) => (db: DatabaseSync) => {
  const rows = all(db);
  let hash = rows[from - 2]?.hash ?? '0'.repeat(64);
  for (const { seq, record } of rows.slice(from - 1)) {
    const changed = seq === from ? record.replace('"door":"jsonrpc"', '"door":"mcp"') : record;
    hash = chainHash(hash, changed);
    run('UPDATE audit SET record = ?, hash = ? WHERE seq = ?', changed, hash, seq)(db);
  }
};

const TAMPERED: readonly [name: string, how: (db: DatabaseSync) => void, seq: number, reason: RegExp][] = [
  [
    'a changed record',
    run(`UPDATE audit SET record = replace(record, '"pause"', '"resume"') WHERE seq = 5`),
    5,
    /^its record was changed$/,
  ],
  [
    'a changed first record',
    run(`UPDATE audit SET record = record || ' ' WHERE seq = 1`),
    1,
    /^its record was changed$/,
  ],
  [
    'a changed last record',
    run(`UPDATE audit SET record = record || ' ' WHERE seq = 10`),
    10,
    /^its record or its hash was changed$/,
  ],
  [
    'a changed hash',
    run(`UPDATE audit SET hash = iif(hash LIKE '0%', '1', '0') || substr(hash, 2) WHERE seq = 5`),
    5,
    /^its hash was changed$/,
  ],
  [
    'a hash in capitals',
    run('UPDATE audit SET hash = upper(hash) WHERE seq = 7'),
    7,
    /^its hash was changed$/,
  ],
  [
    'a record that became bytes',
    (db) => {
      db.exec('CREATE TABLE other (seq INTEGER PRIMARY KEY, record, hash)');
      db.exec('INSERT INTO other SELECT seq, iif(seq = 4, CAST(record AS BLOB), record), hash FROM audit');
      db.exec('DROP TABLE audit; ALTER TABLE other RENAME TO audit');
    },
    4,
    /is not text$/,
  ],
  ['a deleted record', run('DELETE FROM audit WHERE seq = 4'), 4, /^it is gone: deleted$/],
  [
    'deleted records',
    run('DELETE FROM audit WHERE seq BETWEEN 4 AND 6'),
    4,
    /^records 4 to 6 are gone: deleted$/,
  ],
  ['a deleted beginning', run('DELETE FROM audit WHERE seq < 3'), 1, /^records 1 to 2 are gone: deleted$/],
  [
    'a deleted record, and those after it renumbered',
    (db) =>
      rewrite(
        db,
        all(db).filter(({ seq }) => seq !== 4),
      ),
    4,
    /deleted and those after it renumbered: 1 of 10 are gone$/,
  ],
  [
    'a tail cut off',
    run('DELETE FROM audit WHERE seq > 8'),
    9,
    /^records 9 to 10 are gone: the tail was cut off$/,
  ],
  ['everything cut off', run('DELETE FROM audit'), 1, /^records 1 to 10 are gone: the tail was cut off$/],
  [
    'an inserted record, hashed on',
    insert(4, ['{"kind":"status"}']),
    5,
    /^it was inserted: record 6 continues 4$/,
  ],
  [
    'inserted records, hashed on',
    insert(4, ['{"a":1}', '{"a":2}']),
    5,
    /^it was inserted: record 7 continues 4$/,
  ],
  ['a new beginning, hashed on', insert(0, ['{"a":1}']), 1, /^it was inserted: record 2 continues nothing$/],
  [
    'an inserted record with any hash',
    insert(4, ['{"a":1}'], 'ab'.repeat(32)),
    5,
    /^it was inserted: record 6 continues 4$/,
  ],
  [
    'a record before the first',
    run(`INSERT INTO audit VALUES (-3, '{}', 'x')`),
    -3,
    /^it was inserted: the chain begins at 1$/,
  ],
  [
    'neighbours that changed places',
    swap(4, 5),
    4,
    /^it is out of order: it continues what stands as record 5$/,
  ],
  [
    'the last ones in each other’s place',
    swap(9, 10),
    9,
    /^it is out of order: it continues what stands as record 10$/,
  ],
  [
    'records far apart in each other’s place',
    swap(3, 8),
    3,
    /^it is out of order: it continues what stands as record 7$/,
  ],
  [
    'a record moved to the end',
    (db) => {
      const rows = all(db);
      rewrite(db, [...rows.slice(0, 2), ...rows.slice(3), ...rows.slice(2, 3)]);
    },
    3,
    /^it is out of order: it continues what stands as record 10$/,
  ],
  [
    'a number that no record has',
    run('UPDATE audit SET seq = 9007199254740993 WHERE seq = 10'),
    10,
    /^(it cannot be read|it is gone|records)/,
  ],
];

for (const [name, how, seq, reason] of TAMPERED) {
  test(`${name} is detected and described, even after a restart`, deadline, async (t) => {
    const { store, tamper, reopen } = await openChain(t);
    assert.deepEqual(await store.verify(), { ok: true, records: RECORDS, head: store.head() });
    tamper(how);
    const found = (report: VerifyReport): void => {
      assert.equal(report.ok, false);
      assert.equal(report.broken?.seq, seq, JSON.stringify(report));
      assert.match(report.broken.reason, reason);
      assert.ok(report.records < Math.max(seq + 3, 1));
    };
    found(await store.verify());
    found(await (await reopen()).verify());
  });
}

test('a published head reveals a truncated tail even after its counter was reset', deadline, async (t) => {
  const { store, tamper } = await openChain(t);
  const known = store.head();
  assert.equal((await store.verify({ known })).ok, true);
  tamper((db) => {
    db.exec(`DELETE FROM audit WHERE seq > 8; UPDATE sqlite_sequence SET seq = 8 WHERE name = 'audit'`);
  });
  // The decisions of the lost records are still in their table.
  assert.equal((await store.verify()).broken?.table, 'decisions');
  const { ok, head, broken } = await store.verify({ known });
  assert.deepEqual(
    [ok, head.seq, broken],
    [false, 8, { seq: 9, reason: 'records 9 to 10 are gone: the tail was cut off' }],
  );
});

test('a published head reveals a rewritten chain', deadline, async (t) => {
  const { store, tamper } = await openChain(t);
  const known = store.head();
  tamper(rehash(5));
  assert.equal((await store.verify()).ok, true);
  const { broken } = await store.verify({ known });
  assert.equal(broken?.seq, 10);
  assert.match(broken.reason, /not the one that was published/);
});

test('a published head tells a changed last record from a changed last hash', deadline, async (t) => {
  for (const [sql, reason] of [
    ['UPDATE audit SET record = record || char(32) WHERE seq = 10', 'its record was changed'],
    ['UPDATE audit SET hash = upper(hash) WHERE seq = 10', 'its hash was changed'],
  ] as const) {
    const { store, tamper } = await openChain(t);
    const known = store.head();
    tamper(run(sql));
    assert.deepEqual((await store.verify({ known })).broken, { seq: 10, reason });
  }
});

test('records written after a truncation leave the gap visible', deadline, async (t) => {
  const { store, tamper } = await openChain(t);
  tamper(run('DELETE FROM audit WHERE seq > 8'));
  await decided(store, payload());
  assert.equal(store.head().seq, 11);
  assert.deepEqual((await store.verify()).broken, { seq: 9, reason: 'records 9 to 10 are gone: deleted' });
});

test('decisions continue after the numbering was reset', deadline, async (t) => {
  const { store, tamper } = await openChain(t);
  tamper((db) => db.exec(`UPDATE sqlite_sequence SET seq = 3 WHERE name = 'audit'`));
  await decided(store, payload());
  assert.equal(store.head().seq, 11);
  assert.deepEqual((await store.verify()).ok, true);
});
