import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock as clock, systemIds as ids } from '@hermes-fleet/protocol/ports';
import { silentLog as log, tempDir } from '@hermes-fleet/protocol/testing';
import { openReader } from './reader.ts';
import { integer } from './row.ts';
import { openStore } from './store.ts';

const step =
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT; CREATE TABLE things (n INTEGER) STRICT';
const schema = { name: 'things', applicationId: 0x7468, migrations: [step] };

function fileIn(t: TestContext): { file: string; open: () => ReturnType<typeof openStore> } {
  const file = join(tempDir(t), 'things.db');
  return { file, open: () => openStore({ file, schema, profile: 'neo', clock, ids, log }) };
}

const count = (file: string): number => {
  const reader = openReader(file, schema);
  try {
    return reader.read((db) => integer(db.get('SELECT count(*) AS n FROM things') ?? {}, 'n'));
  } finally {
    reader.close();
  }
};

test('a reader sees committed data with and without an owner, and cannot write', async (t) => {
  const { file, open } = fileIn(t);
  const store = open();
  await store.write((db) => db.run('INSERT INTO things VALUES (1)'));
  assert.equal(count(file), 1);
  await store.write((db) => db.run('INSERT INTO things VALUES (2)'));
  store.close();
  assert.equal(count(file), 2);
  const reader = openReader(file, schema);
  assert.throws(() => reader.read((db) => db.run('INSERT INTO things VALUES (3)')), {
    code: 'INTERNAL',
  });
  reader.close();
  assert.throws(() => reader.read(() => 0), { code: 'SHUTTING_DOWN' });
});

test('a missing file, another kind of file and another schema version are rejected without a change', async (t) => {
  const { file, open } = fileIn(t);
  assert.throws(() => openReader(file, schema), { code: 'CONFIG_INVALID', message: /does not exist/ });
  assert.deepEqual(readdirSync(join(file, '..')), []);
  open().close();
  const other = { ...schema, applicationId: 1 };
  assert.throws(() => openReader(file, other), { code: 'CONFIG_INVALID', message: /is not a things/ });
  const newer = { ...schema, migrations: [step, 'CREATE TABLE more (n INTEGER) STRICT'] };
  assert.throws(() => openReader(file, newer), {
    code: 'CONFIG_INVALID',
    message: /has schema 1.*reads 2/,
  });
  writeFileSync(file, 'no database at all, but long enough to be taken for one'.repeat(100));
  assert.throws(() => openReader(file, schema), {
    code: 'CONFIG_INVALID',
    message: /not a readable database/,
  });
});
