import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { systemIds as ids } from '@hermes-fleet/protocol/ports';
import { deadline, hasCode, silentLog as log, manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { BUSY_TIMEOUT_MS } from './database.ts';
import { rewriteFile } from './rewrite.ts';
import { openStore } from './store.ts';

const step =
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT; CREATE TABLE things (text TEXT) STRICT';
const schema = { name: 'things', applicationId: 0x7468, migrations: [step] };
const SECRET = 'a-secret-in-a-row';

/** A store with a secret that was deleted. */
async function setup(t: TestContext) {
  const file = join(tempDir(t), 'things.db');
  const store = openStore({ file, schema, profile: 'neo', clock: manualClock(), ids, log });
  t.after(store.close);
  await store.write((db) => db.run('INSERT INTO things VALUES (?)', SECRET.repeat(50_000)));
  await store.write((db) => db.run('DELETE FROM things'));
  const open = (readOnly: boolean): DatabaseSync => {
    const db = new DatabaseSync(file, { readOnly });
    t.after(() => db.isOpen && db.close());
    return db;
  };
  const hasSecret = (): boolean => [file, `${file}-wal`].some((each) => readFileSync(each).includes(SECRET));
  return { file, store, open, hasSecret };
}

/** Fails if `run` waits for a lock. */
function unavailableAtOnce(run: () => void, message: RegExp): void {
  const startedAt = performance.now();
  assert.throws(run, hasCode('STORE_UNAVAILABLE', message));
  assert.ok(performance.now() - startedAt < BUSY_TIMEOUT_MS, 'it waited for the lock');
}

test('a rewrite and an empty log leave nothing of what was deleted', deadline, async (t) => {
  const { file, store, hasSecret } = await setup(t);
  store.emptyLog();
  assert.equal(hasSecret(), true);
  store.rewrite();
  store.emptyLog();
  assert.deepEqual([hasSecret(), statSync(`${file}-wal`).size], [false, 0]);
});

test('emptying the log does not wait for another process that reads the file', deadline, async (t) => {
  const { store, open, hasSecret } = await setup(t);
  const reader = open(true);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM things').get();
  store.rewrite();
  unavailableAtOnce(store.emptyLog, /log of the things cannot be emptied \(another process reads the file\)/);
  reader.close();
  store.emptyLog();
  assert.equal(hasSecret(), false);
});

test(
  'a rewrite does not wait for another process that writes, but transactions still do',
  deadline,
  async (t) => {
    const { store, open } = await setup(t);
    const writer = open(false);
    writer.exec('BEGIN IMMEDIATE');
    unavailableAtOnce(
      store.rewrite,
      /^the things cannot be rewritten \(database is locked\); try again later$/,
    );
    writer.exec('ROLLBACK');
    const timeout = await store.write((db) => db.get('PRAGMA busy_timeout')?.timeout);
    assert.equal(timeout, BUSY_TIMEOUT_MS);
  },
);

test('a rewrite that the disk has no space for is refused before it writes', deadline, async (t) => {
  const { file, store, open } = await setup(t);
  store.emptyLog();
  const db = open(false);
  const size = statSync(file).size;
  assert.throws(
    () => rewriteFile(db, 'things', () => 2 * size - 1),
    hasCode(
      'STORE_UNAVAILABLE',
      /^the things cannot be rewritten \(its disk has 1 MB left, and that needs 2 MB\)/,
    ),
  );
  assert.equal(statSync(`${file}-wal`).size, 0);
  rewriteFile(db, 'things', () => 2 * size);
  assert.notEqual(statSync(`${file}-wal`).size, 0);
});
