import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { openConnections, versionOf } from '@hermes-fleet/store';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { openLedger } from './ledger.ts';
import { LEDGER } from './schema.ts';
import type { Ledger } from './types.ts';

function open(file: string, profile = 'neo'): Ledger {
  return openLedger({ file, profile, clock: manualClock(), ids: systemIds, log: silentLog });
}

test('a new file is private, in WAL mode, fully synchronous, with foreign keys', (t) => {
  const file = join(tempDir(t), 'deep', 'state', 'ledger.db');
  const { writer, id } = openConnections(file, LEDGER, () => 'id');
  t.after(() => writer.close());
  assert.equal(id, 'id');
  const pragma = (name: string): unknown => writer.prepare(`PRAGMA ${name}`).get()?.[name];
  assert.equal(pragma('journal_mode'), 'wal');
  assert.equal(pragma('synchronous'), 2);
  assert.equal(pragma('foreign_keys'), 1);
  assert.equal(writer.prepare('PRAGMA busy_timeout').get()?.timeout, 2000);
  assert.equal(pragma('user_version'), versionOf(LEDGER));
  for (const name of [file, `${file}-wal`]) assert.equal(statSync(name).mode & 0o777, 0o600);
});

test('a closed ledger is one file', async (t) => {
  const { ledger, file } = openTestLedger(t);
  await ledger.accept(newTask());
  await ledger.close();
  assert.equal(existsSync(`${file}-wal`), false);
});

test('a file that is not a database, or has lost its content, is rejected with what to do, and without a change', async (t) => {
  const { ledger, file: whole } = openTestLedger(t);
  await ledger.close();
  const dir = tempDir(t);
  const REMEDY =
    /; correct the path, or restore it from a backup .*, or move it away to begin with a new one$/;
  const rows: [content: string | Buffer, reason: RegExp][] = [
    ['hello', /is not a readable database \(file is not a database\)/],
    ['not a database, but a long text '.repeat(100), /is not a readable database \(file is not/],
    ['', /is empty: what it held is lost/],
    ['\n', /is empty: what it held is lost/],
    ...[50, 4_096, 20_000].map((size): [Buffer, RegExp] => [
      readFileSync(whole).subarray(0, size),
      /is not a readable database \(database disk image is malformed\)/,
    ]),
  ];
  for (const [index, [content, reason]] of rows.entries()) {
    const file = join(dir, `${index}.db`);
    writeFileSync(file, content, { mode: 0o640 });
    for (const words of [new RegExp(`^${file} `), reason, REMEDY])
      assert.throws(() => open(file), { code: 'CONFIG_INVALID', message: words });
    assert.deepEqual(readFileSync(file), Buffer.from(content));
    assert.equal(statSync(file).mode & 0o777, 0o640);
  }
  mkdirSync(join(dir, 'folder.db'));
  assert.throws(() => open(join(dir, 'folder.db')), { code: 'CONFIG_INVALID', message: /is not a file; / });
  symlinkSync('/nowhere/ledger.db', join(dir, 'link.db'));
  assert.throws(() => open(join(dir, 'link.db')), {
    code: 'CONFIG_INVALID',
    message: /is a link to a file that is not there; /,
  });
  const names = [...rows.keys()].map((index) => `${index}.db`);
  assert.deepEqual(readdirSync(dir).sort(), [...names, 'folder.db', 'link.db']);
});

test('a file whose creation was interrupted is made, whatever of it was written', async (t) => {
  const dir = join(tempDir(t), 'state');
  const file = join(dir, 'ledger.db');
  for (const size of ['nothing', 'empty'] as const) {
    mkdirSync(dir, { recursive: true });
    writeFileSync(`${file}.new`, '');
    if (size === 'empty') writeFileSync(file, '');
    const ledger = open(file);
    await ledger.accept(newTask());
    await ledger.close();
    assert.deepEqual(readdirSync(dir), ['ledger.db']);
    rmSync(dir, { recursive: true });
  }
});

test('another kind of database is rejected without a change', (t) => {
  const file = join(tempDir(t), 'other.db');
  using other = new DatabaseSync(file);
  other.exec('CREATE TABLE tasks (id TEXT)');
  const before = readFileSync(file);
  assert.throws(() => open(file), { code: 'CONFIG_INVALID', message: /is a database, but not a ledger/ });
  assert.deepEqual(readFileSync(file), before);
  other.exec('DROP TABLE tasks; PRAGMA user_version = 1');
  assert.throws(() => open(file), { code: 'CONFIG_INVALID', message: /is a database, but not a ledger/ });
});

test('the ledger of another profile is rejected', async (t) => {
  const { ledger, file } = openTestLedger(t);
  await ledger.close();
  assert.throws(() => open(file, 'trinity'), {
    code: 'CONFIG_INVALID',
    message: /belongs to profile neo, not trinity/,
  });
});

test('a ledger with a missing table is rejected and closed', async (t) => {
  const { ledger, file } = openTestLedger(t);
  await ledger.close();
  using db = new DatabaseSync(file);
  db.exec('DROP TABLE events');
  assert.throws(() => open(file), /no such table: events/);
  db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK');
});

test('a step behind the first schema keeps what the ledger has', async (t) => {
  const { ledger, file } = openTestLedger(t);
  const { task } = await ledger.accept(newTask());
  await ledger.close();
  const step = `ALTER TABLE tasks ADD COLUMN note TEXT NOT NULL DEFAULT 'none'`;
  const next = { ...LEDGER, migrations: [...LEDGER.migrations, step] };
  const { writer } = openConnections(file, next, () => 'id');
  t.after(() => writer.close());
  assert.deepEqual({ ...writer.prepare('SELECT id, note FROM tasks').get() }, { id: task.id, note: 'none' });
});

test('an unwritable path is a configuration error that names it', (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'file'), '');
  assert.throws(() => open(join(dir, 'file', 'ledger.db')), {
    code: 'CONFIG_INVALID',
    message: /file\/ledger\.db: .*; its directory must be writable/,
  });
});

test('a ledger that another process locks is unavailable, not misconfigured', (t) => {
  const file = join(tempDir(t), 'ledger.db');
  using other = new DatabaseSync(file);
  other.exec('CREATE TABLE a (b); BEGIN EXCLUSIVE');
  assert.throws(() => open(file), { code: 'STORE_UNAVAILABLE', message: /database is locked/ });
});
