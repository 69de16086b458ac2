import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { deadline, silentLog as log, manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { openStore, type Queries, type Store } from '@hermes-fleet/store';
import { newTask } from '../testing/harness.ts';
import { createLedger } from './ledger.ts';
import { LEDGER } from './schema.ts';

/** A store whose reads of events tell after which sequence they begin. */
function watched(store: Store, begins: (after: unknown) => void): Store {
  const look = (sql: string, params: readonly unknown[]): void => {
    if (sql.includes('FROM events')) begins(params[0]);
  };
  const watch = (db: Queries): Queries => ({
    get: (sql, ...params) => {
      look(sql, params);
      return db.get(sql, ...params);
    },
    all: (sql, ...params) => {
      look(sql, params);
      return db.all(sql, ...params);
    },
    run: db.run,
    insert: db.insert,
  });
  return { ...store, read: (query) => store.read((db) => query(watch(db))) };
}

test(
  'the outbox does not read the text deltas between its cursor and the oldest event again and again',
  deadline,
  async (t) => {
    const dir = tempDir(t, { closeFirst: () => ledger.close() });
    const [clock, profile] = [manualClock(), 'neo'];
    const store = openStore({
      file: join(dir, 'ledger.db'),
      profile,
      clock,
      ids: systemIds,
      log,
      schema: LEDGER,
    });
    const reads: unknown[] = [];
    const begun = (): unknown[] => reads.splice(0);
    const ledger = createLedger(
      { profile, clock },
      watched(store, (after) => reads.push(after)),
    );
    const { outbox } = ledger;
    const { id } = (await ledger.accept(newTask())).task;
    const append = (type: string) => ledger.append(id, { type, data: {} });
    const appendText = () => Promise.all(Array.from({ length: 100 }, () => append('text')));
    await outbox.advance(1);
    await appendText();
    begun();

    assert.deepEqual([outbox.backlog(), outbox.read(1, 10)], [{ count: 0, oldestAgeMs: 0 }, []]);
    assert.deepEqual(begun(), [], 'nothing is unpublished');

    await append('progress');
    clock.advance(5);
    assert.deepEqual(outbox.backlog(), { count: 1, oldestAgeMs: 5 });
    assert.deepEqual(begun(), [], 'the event is known from its commit');
    assert.equal(outbox.read(1, 10)[0]?.seq, 102);
    assert.deepEqual(begun(), [101]);
    assert.equal(outbox.read(0, 10).length, 2, 'events that are published can be read again');

    await appendText();
    await append('progress');
    await outbox.advance(102);
    begun();
    for (let i = 0; i < 3; i += 1) assert.deepEqual(outbox.backlog(), { count: 1, oldestAgeMs: 0 });
    assert.deepEqual(begun(), [102], 'the event is searched for once');
    assert.deepEqual(
      outbox.read(102, 10).map(({ seq }) => seq),
      [203],
    );
    assert.deepEqual(begun(), [202]);
  },
);
