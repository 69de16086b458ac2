import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { openConnections } from './database.ts';
import { migrate, type StoreSchema } from './migrate.ts';

/** The first released schema is version 12, and `SECOND` has an invented step behind it. */
const FIRST: StoreSchema = {
  name: 'things',
  applicationId: 0x7468,
  firstVersion: 12,
  migrations: [
    'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE things (n INTEGER) STRICT',
  ],
};
const STEP = `ALTER TABLE things ADD COLUMN name TEXT; UPDATE things SET name = 'thing ' || n`;
const SECOND: StoreSchema = { ...FIRST, migrations: [...FIRST.migrations, STEP] };

/** A file of the first schema with a row. */
function made(t: TestContext): string {
  const file = join(tempDir(t), 'things.db');
  const { writer } = openConnections(file, FIRST, () => 'id');
  writer.exec('INSERT INTO things VALUES (7)');
  writer.close();
  return file;
}

/** Opens a file as its owner does, and returns its version and rows. */
function opened(file: string, schema: StoreSchema): unknown {
  const { writer } = openConnections(file, schema, () => 'id');
  const rows = writer.prepare('SELECT * FROM things').all();
  const version = writer.prepare('PRAGMA user_version').get()?.user_version;
  writer.close();
  return [version, rows.map((row) => ({ ...row }))];
}

test('a new file gets the first schema and all steps', (t) => {
  assert.deepEqual(opened(join(tempDir(t), 'first.db'), FIRST), [12, []]);
  assert.deepEqual(opened(join(tempDir(t), 'second.db'), SECOND), [13, []]);
});

test('a step is applied once to a file of the version before, which keeps its rows', (t) => {
  const file = made(t);
  for (const _ of ['applied', 'there'])
    assert.deepEqual(opened(file, SECOND), [13, [{ n: 7, name: 'thing 7' }]]);
});

test('a step that fails changes nothing, also if it ended the transaction', (t) => {
  const file = made(t);
  for (const [step, message] of [
    ['CREATE TABLE things (n INTEGER) STRICT', /table things already exists/],
    ['ROLLBACK; nonsense', /nonsense/],
  ] as const) {
    const failing = { ...SECOND, migrations: [...SECOND.migrations, step] };
    assert.throws(() => opened(file, failing), message);
    assert.deepEqual(opened(file, FIRST), [12, [{ n: 7 }]]);
  }
});

test('a file of a newer version, or of one before the first, is refused with what to do, and not changed', (t) => {
  for (const [version, message] of [
    [
      14,
      /^the things .*things\.db was written by a newer version .*schema 14.* up to 13\); run that version, or restore/,
    ],
    [
      11,
      /^the things .*things\.db was written by a build before 0\.2\.0, .*schema 11.* 12 and later\); run that build, or move/,
    ],
    [1, /before 0\.2\.0/],
  ] as const) {
    const file = made(t);
    // As a backup by VACUUM INTO has it.
    using db = new DatabaseSync(file);
    db.exec(`PRAGMA journal_mode = DELETE; PRAGMA user_version = ${version}`);
    const before = readFileSync(file);
    assert.throws(() => opened(file, SECOND), { code: 'CONFIG_INVALID', message });
    assert.throws(() => migrate(db, file, SECOND), { code: 'CONFIG_INVALID', message });
    assert.deepEqual(readFileSync(file), before);
  }
});
