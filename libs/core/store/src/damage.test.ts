import assert from 'node:assert/strict';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { systemIds as ids } from '@hermes-fleet/protocol/ports';
import { deadline, silentLog as log, manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { openConnections } from './database.ts';
import { openReader } from './reader.ts';
import { createStore, openStore, type Store } from './store.ts';

const PAGE = 4096;
const step =
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT; CREATE TABLE things (n INTEGER PRIMARY KEY, t TEXT) STRICT';
const schema = { name: 'things', applicationId: 0x7468, migrations: [step] };

/** A store of many pages, closed. */
async function filled(t: TestContext) {
  const file = join(tempDir(t), 'things.db');
  const clock = manualClock();
  const open = (): Store => openStore({ file, schema, profile: 'neo', clock, ids, log });
  /** Opens it, and empties the memory of the connection: the next read comes from the file. */
  const openUncached = (): Store => {
    const connections = openConnections(file, schema, () => 'id');
    connections.writer.exec('PRAGMA shrink_memory');
    return createStore({ schema, clock, log }, connections);
  };
  const store = open();
  await store.write((db) => {
    for (let n = 1; n <= 2_000; n += 1) db.run('INSERT INTO things VALUES (?, ?)', n, 'x'.repeat(500));
  });
  store.close();
  return { file, clock, open, openUncached };
}

/** Overwrites all pages behind the first few, which hold the schema and the identity. */
function damage(file: string): void {
  const fd = openSync(file, 'r+');
  const garbage = Buffer.alloc(PAGE, 0xa5);
  for (let at = 6 * PAGE; at < statSync(file).size; at += PAGE) writeSync(fd, garbage, 0, PAGE, at);
  closeSync(fd);
}

const count = (store: Pick<Store, 'read'>): unknown =>
  store.read((db) => db.get('SELECT sum(length(t)) AS n FROM things'));

const DAMAGED = { code: 'STORE_UNAVAILABLE', retryable: false, message: /the things is damaged .*backup/ };

describe('a damaged page', () => {
  it('is found at the start, before anything else is read: nothing is written', deadline, async (t) => {
    const { file, open } = await filled(t);
    damage(file);
    const store = open();
    t.after(store.close);
    assert.match(
      store.problem() ?? '',
      /^the things is damaged \(.+\): stop the service and restore the file/,
    );
    await assert.rejects(
      store.write((db) => db.run("INSERT INTO things VALUES (9000, 'y')")),
      DAMAGED,
    );
    assert.throws(() => count(store), DAMAGED);
  });

  it('that a read finds is a problem from then on, and nothing is written any more', deadline, async (t) => {
    const { file, clock, openUncached } = await filled(t);
    const store = openUncached();
    t.after(store.close);
    assert.equal(store.problem(), undefined);
    damage(file);
    assert.throws(() => count(store), DAMAGED);
    assert.match(
      store.problem() ?? '',
      /^the things is damaged \(.+\): stop the service and restore the file/,
    );
    await assert.rejects(
      store.write((db) => db.run("INSERT INTO things VALUES (9000, 'y')")),
      DAMAGED,
    );
    clock.advance(60_000);
    assert.match(store.problem() ?? '', /is damaged/);
    assert.equal(clock.timers, 0);
  });

  it('that a write finds fails its batch, and is a problem from then on', deadline, async (t) => {
    const { clock, open } = await filled(t);
    const store = open();
    t.after(store.close);
    const corrupt = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
    const failing = store.write(() => {
      throw corrupt;
    });
    const behind = store.write((db) => db.run("INSERT INTO things VALUES (9000, 'y')"));
    await assert.rejects(failing, DAMAGED);
    await assert.rejects(behind, DAMAGED);
    clock.advance(60_000);
    assert.match(store.problem() ?? '', /is damaged \(database disk image is malformed\)/);
  });

  it('that a reader of another process finds is not retryable either', deadline, async (t) => {
    const { file } = await filled(t);
    damage(file);
    const reader = openReader(file, schema);
    t.after(reader.close);
    assert.throws(() => count(reader), DAMAGED);
  });
});
