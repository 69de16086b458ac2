import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { deadline, type ManualClock, manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { type Connections, createStore, openConnections, type Store } from '@hermes-fleet/store';
import { newTask } from '../testing/harness.ts';
import { createLedger } from './ledger.ts';
import { LEDGER } from './schema.ts';
import type { TaskEvent } from './types.ts';

function setUp(t: TestContext): {
  connections: Connections;
  store: Store;
  clock: ManualClock;
} {
  const dir = tempDir(t, { closeFirst: () => store.close() });
  const clock = manualClock();
  const connections = openConnections(join(dir, 'ledger.db'), LEDGER, () => 'ledger-id');
  const store = createStore({ schema: LEDGER, clock, log: silentLog }, connections);
  return { connections, store, clock };
}

test('readers see committed data only', deadline, async (t) => {
  const { store } = setUp(t);
  const peers = (): number => store.read((db) => db.all('SELECT * FROM peers').length);
  const seen: number[] = [];
  const writing = store.write((db) => {
    db.run(`INSERT INTO peers VALUES ('a', '{}', 1, NULL)`);
    assert.throws(peers, { code: 'INTERNAL', message: 'a transaction of the ledger must not call read' });
  });
  seen.push(peers());
  await writing;
  seen.push(peers());
  assert.deepEqual(seen, [0, 1]);
});

test('a failed commit wakes nobody', deadline, async (t) => {
  const { connections, store, clock } = setUp(t);
  const ledger = createLedger({ profile: 'neo', clock }, store);
  const { id } = (await ledger.accept(newTask())).task;
  const abort = new AbortController();
  const seen: TaskEvent[] = [];
  const watching = (async () => {
    for await (const event of ledger.watch(id, 1, abort.signal)) seen.push(event);
  })();
  let relayed = false;
  const relaying = ledger.outbox.wait(1, abort.signal).then(() => {
    relayed = true;
  });

  const pages = connections.writer.prepare('PRAGMA page_count').get()?.page_count;
  connections.writer.exec(`PRAGMA max_page_count = ${pages}`);
  const outcomes = await Promise.allSettled([
    ledger.append(id, { type: 'started', data: {} }),
    ledger.append(id, { type: 'progress', data: { log: 'x'.repeat(500_000) } }),
  ]);
  await new Promise(setImmediate);
  assert.ok(
    outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason.code === 'STORE_UNAVAILABLE'),
  );
  assert.match(ledger.problem() ?? '', /disk is full/);
  assert.deepEqual([seen, relayed, ledger.outbox.backlog().count], [[], false, 1]);
  assert.equal(ledger.get(id)?.state, 'submitted');

  connections.writer.exec('PRAGMA max_page_count = 100000');
  clock.advance(5000);
  assert.equal(ledger.problem(), undefined, 'the ledger recovers without a request');
  await ledger.append(id, { type: 'done', data: {} });
  await Promise.all([watching, relaying]);
  assert.deepEqual(
    seen.map(({ seq, type }) => [seq, type]),
    [[2, 'done']],
  );
});

test('an unreadable file is unavailable; an invalid query is an error of the code', deadline, (t) => {
  const { connections, store } = setUp(t);
  assert.throws(() => store.read((db) => db.get('SELECT nonsense')), /no such column/);
  assert.throws(() => store.read((db) => db.run(`DELETE FROM meta`)), {
    code: 'INTERNAL',
    message: 'a read can only SELECT; write this in a transaction: DELETE FROM meta',
  });
  t.mock.method(connections.writer, 'prepare', () => {
    throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
  });
  assert.throws(() => store.read((db) => db.get('SELECT 1')), {
    code: 'STORE_UNAVAILABLE',
    message: 'the ledger cannot be read; try again later',
  });
});

test('a damaged row is reported with its column', deadline, (t) => {
  const { connections, store, clock } = setUp(t);
  const ledger = createLedger({ profile: 'neo', clock }, store);
  const damaged = (values: string, column: string): void => {
    connections.writer.exec(`INSERT OR REPLACE INTO peers VALUES ('a', ${values}, NULL)`);
    assert.throws(() => ledger.peers(), { code: 'STORE_UNAVAILABLE', message: new RegExp(`"${column}"`) });
  };
  damaged(`'no json', 1`, 'announce');
  damaged(`'[]', 1`, 'announce');
  connections.writer.exec(`INSERT INTO tasks VALUES (7, 't', 'c', 'x', 'k', NULL, NULL, 1, 3, NULL, '{}')`);
  connections.writer.exec(`INSERT INTO unfinished VALUES (7, 'x', 'lost', 0, 1)`);
  assert.throws(() => ledger.get('t'), { code: 'STORE_UNAVAILABLE', message: /"state"/ });
  connections.writer.exec(`UPDATE unfinished SET state = 'queued'`);
  assert.throws(() => ledger.get('t'), { code: 'STORE_UNAVAILABLE', message: /"dispatch"/ });
  connections.writer.exec(`UPDATE tasks SET dispatch = '{}', dispatch_part = NULL`);
  assert.throws(() => ledger.get('t'), { code: 'STORE_UNAVAILABLE', message: /"last_seq"/ });
});
