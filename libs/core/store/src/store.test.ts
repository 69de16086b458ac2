import assert from 'node:assert/strict';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemIds as ids } from '@hermes-fleet/protocol/ports';
import { deadline, silentLog as log, manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { integer } from './row.ts';
import { openStore } from './store.ts';

const step =
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT; CREATE TABLE things (n INTEGER) STRICT';
const schema = { name: 'things', applicationId: 0x7468, migrations: [step] };

const LOSSES: [string, (file: string) => void][] = [
  ['moved', (file) => renameSync(file, `${file}.old`)],
  ['removed', (file) => rmSync(file)],
  [
    'replaced',
    (file) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
  ],
];
for (const [what, lose] of LOSSES)
  test(`writes fail when the open file is ${what}`, deadline, async (t) => {
    const file = join(tempDir(t), 'things.db');
    const clock = manualClock();
    const store = openStore({ file, schema, profile: 'neo', clock, ids, log });
    t.after(store.close);
    const add = (): Promise<unknown> => store.write((db) => db.run('INSERT INTO things VALUES (1)'));
    await add();
    lose(file);
    await assert.rejects(add(), { code: 'STORE_UNAVAILABLE', message: /put it back, or restart/ });
    assert.match(store.problem() ?? '', /was moved, removed or replaced while it was open/);
  });

test('a file that is put back becomes writable again without a request', deadline, async (t) => {
  const file = join(tempDir(t), 'things.db');
  const clock = manualClock();
  const store = openStore({ file, schema, profile: 'neo', clock, ids, log });
  t.after(store.close);
  const add = (): Promise<unknown> => store.write((db) => db.run('INSERT INTO things VALUES (1)'));
  renameSync(file, `${file}.old`);
  await assert.rejects(add(), { code: 'STORE_UNAVAILABLE' });
  renameSync(`${file}.old`, file);
  clock.advance(5000);
  assert.equal(store.problem(), undefined);
  await add();
  assert.equal(
    store.read((db) => integer(db.get('SELECT count(*) AS n FROM things') ?? {}, 'n')),
    1,
  );
});
