import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { deadline, manualClock, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createGroupCommit } from './group-commit.ts';
import { createStatements } from './queries.ts';

function setUp(t: TestContext) {
  const file = join(tempDir(t), 'test.db');
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: true });
  const other = new DatabaseSync(file, { readOnly: true });
  t.after(() => {
    other.close();
    if (db.isOpen) db.close();
  });
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('CREATE TABLE a (n INTEGER PRIMARY KEY, padding BLOB) STRICT');
  db.exec('CREATE TABLE b (n INTEGER REFERENCES a (n)) STRICT');
  const clock = manualClock();
  const log = recordingLog();
  const { writing, writes } = createStatements(db);
  const commits = createGroupCommit({
    name: 'ledger',
    db,
    clock,
    log,
    assertReady: () => undefined,
    probe: () => db.exec('INSERT OR REPLACE INTO a VALUES (-1, NULL)'),
    writes,
  });
  const insert = (n: number): number => {
    writing.run('INSERT INTO a (n) VALUES (?)', n);
    return n;
  };
  const committed = (): number[] =>
    other
      .prepare('SELECT n FROM a WHERE n > 0 ORDER BY n')
      .all()
      .map((row) => Number(row.n));
  return { db, clock, log, commits, insert, committed };
}

test('the transactions of one turn are committed together, after it', deadline, async (t) => {
  const { db, commits, insert, committed } = setUp(t);
  let begun = 0;
  db.setAuthorizer((action, operation) => {
    if (action === 22 && operation === 'BEGIN') begun += 1;
    return 0;
  });
  const writes = [1, 2, 3].map((n) => commits.write(() => insert(n)));
  assert.deepEqual(committed(), []);
  assert.deepEqual(await Promise.all(writes), [1, 2, 3]);
  assert.equal(begun, 1);
  assert.deepEqual(committed(), [1, 2, 3]);
});

test('a transaction that throws rolls back only itself', deadline, async (t) => {
  const { commits, insert, committed } = setUp(t);
  const refusal = new FleetError('TASK_ID_CONFLICT', 'taken');
  const outcomes = await Promise.allSettled([
    commits.write(() => insert(1)),
    commits.write(() => {
      insert(2);
      throw refusal;
    }),
    commits.write(() => insert(1)),
    commits.write(() => insert(3)),
  ]);
  assert.deepEqual(committed(), [1, 3]);
  const [, second, third, fourth] = outcomes;
  assert.equal(second?.status === 'rejected' && second.reason, refusal);
  assert.equal(third?.status === 'rejected' && third.reason.code, 'INTERNAL');
  assert.equal(fourth?.status === 'fulfilled' && fourth.value, 3);
  assert.equal(commits.problem(), undefined);
});

test('transactions that run one by one stay ahead of those behind them', deadline, async (t) => {
  const { commits, insert, committed } = setUp(t);
  const bug = new Error('a bug');
  const ended: number[] = [];
  const writes = Array.from({ length: 600 }, (_, n) => {
    const written = commits.write(() => {
      insert(n + 1);
      if (n === 2) throw bug;
    });
    const note = (): void => void ended.push(n);
    return written.then(note, note);
  });
  await Promise.all(writes);
  assert.deepEqual(
    ended,
    Array.from({ length: 600 }, (_, n) => n),
  );
  assert.equal(committed().length, 599);
});

test('a store that fails while transactions run one by one fails the rest of them', deadline, async (t) => {
  const { db, commits, insert, committed } = setUp(t);
  await commits.write(() => insert(1));
  db.exec(`PRAGMA max_page_count = ${Number(db.prepare('PRAGMA page_count').get()?.page_count)}`);
  const outcomes = await Promise.allSettled([
    commits.write(() => insert(2)),
    commits.write(() => {
      insert(3);
      throw new FleetError('TASK_ID_CONFLICT', 'taken');
    }),
    commits.write(() => db.exec('INSERT INTO a VALUES (4, zeroblob(100000))')),
    commits.write(() => insert(5)),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code),
    [false, 'TASK_ID_CONFLICT', 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
  );
  assert.deepEqual(committed(), [1, 2]);
  db.exec('PRAGMA max_page_count = 100000');
  const exec = t.mock.method(db, 'exec');
  await Promise.all([6, 7].map((n) => commits.write(() => insert(n))));
  assert.deepEqual(committed(), [1, 2, 6, 7]);
  assert.deepEqual(
    exec.mock.calls.map((call) => call.arguments[0]),
    ['BEGIN IMMEDIATE', 'COMMIT'],
  );
});

test('the state of a batch exists in a transaction only', deadline, async (t) => {
  const { commits } = setUp(t);
  const seen: number[] = [];
  const state = commits.perBatch(
    () => ({ n: 0 }),
    ({ n }) => seen.push(n),
  );
  assert.throws(state, { code: 'INTERNAL' });
  const add = (): void => {
    state().n += 1;
  };
  await Promise.all([commits.write(add), commits.write(add), commits.write(() => undefined)]);
  await commits.write(() => undefined);
  await commits.write(add);
  assert.deepEqual(seen, [2, 1]);
  assert.throws(state, { code: 'INTERNAL' });
});

test('onCommitted is called after the commit', deadline, async (t) => {
  const { db, commits, insert, committed } = setUp(t);
  const calls: unknown[] = [];
  await commits.write(
    () => insert(7),
    (n) => calls.push({ n, inside: db.isTransaction, visible: committed() }),
  );
  assert.deepEqual(calls, [{ n: 7, inside: false, visible: [7] }]);
});

test('an onCommitted that throws holds up no other write', deadline, async (t) => {
  const { log, commits, insert, committed } = setUp(t);
  const fault = new Error('a bug');
  const follow = (n: number): void => {
    if (n === 1) throw fault;
  };
  const writes = [1, 2].map((n) => commits.write(() => insert(n), follow));
  assert.deepEqual(await Promise.all(writes), [1, 2]);
  assert.equal(await commits.write(() => insert(3)), 3);
  assert.deepEqual(committed(), [1, 2, 3]);
  assert.deepEqual(
    log.entries.map(({ message, fields }) => [message, Object(fields).err]),
    [['what follows a commit of the ledger failed; the commit stands', fault]],
  );
});

test('a full disk rejects the whole batch and is reported until a write succeeds', deadline, async (t) => {
  const { db, clock, log, commits, insert, committed } = setUp(t);
  await commits.write(() => insert(1));
  const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
  db.exec(`PRAGMA max_page_count = ${pages}`);
  const calls: number[] = [];
  const outcomes = await Promise.allSettled([
    commits.write(
      () => insert(2),
      (n) => calls.push(n),
    ),
    commits.write(() => db.exec('INSERT INTO a VALUES (3, zeroblob(100000))')),
    commits.write(() => insert(4)),
  ]);
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected');
    assert.equal(outcome.reason.code, 'STORE_UNAVAILABLE');
    assert.equal(outcome.reason.retryable, true);
    assert.match(outcome.reason.message, /cannot write: database or disk is full; try again later/);
  }
  assert.deepEqual(calls, []);
  assert.deepEqual(committed(), [1]);
  assert.equal(db.isTransaction, false);
  assert.equal(commits.problem(), 'the ledger cannot write: database or disk is full');

  db.exec('PRAGMA max_page_count = 100000');
  await commits.write(() => db.exec('INSERT INTO a VALUES (3, zeroblob(100000))'));
  assert.equal(commits.problem(), undefined);
  assert.deepEqual(log.messages, [
    'error: the ledger cannot write; the batch was rolled back',
    'info: the ledger can write again',
  ]);
  clock.advance(5000);
  assert.equal(clock.timers, 0);
});

test('a failed COMMIT rejects the batch and leaves the connection usable', deadline, async (t) => {
  const { db, commits, insert, committed } = setUp(t);
  const outcomes = await Promise.allSettled([
    commits.write(() => insert(1)),
    commits.write(() => db.exec('PRAGMA defer_foreign_keys = ON; INSERT INTO b VALUES (99)')),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code),
    ['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
  );
  assert.deepEqual(committed(), []);
  await commits.write(() => insert(2));
  assert.deepEqual(committed(), [2]);
});

test('a failed batch fails the writes behind it: no write overtakes another', deadline, async (t) => {
  const { db, commits, insert, committed } = setUp(t);
  let failures = 1;
  const { exec } = db;
  t.mock.method(db, 'exec', (sql: string) => {
    if (sql === 'COMMIT' && failures > 0) {
      failures -= 1;
      throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
    }
    exec.call(db, sql);
  });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 600 }, (_, n) => commits.write(() => insert(n + 1))),
  );
  assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['rejected']));
  assert.deepEqual(committed(), []);
  await commits.write(() => insert(700));
  assert.deepEqual(committed(), [700]);
});

test('after a failure it probes until it can write', deadline, async (t) => {
  const { db, clock, commits, insert } = setUp(t);
  db.exec('PRAGMA query_only = ON');
  await assert.rejects(
    commits.write(() => insert(1)),
    { code: 'STORE_UNAVAILABLE' },
  );
  await assert.rejects(
    commits.write(() => insert(1)),
    { code: 'STORE_UNAVAILABLE' },
  );
  assert.equal(clock.timers, 1);
  clock.advance(5000);
  assert.equal(clock.timers, 1);
  assert.match(commits.problem() ?? '', /readonly/);
  db.exec('PRAGMA query_only = OFF');
  clock.advance(5000);
  assert.equal(commits.problem(), undefined);
  assert.equal(clock.timers, 0);
});

test('a broken connection rejects writes without an uncaught error', deadline, async (t) => {
  const { db, clock, log, commits, insert } = setUp(t);
  const broken = commits.write(() => db.close());
  await assert.rejects(broken, { code: 'STORE_UNAVAILABLE' });
  await assert.rejects(
    commits.write(() => insert(1)),
    { code: 'STORE_UNAVAILABLE' },
  );
  assert.ok(log.messages.includes('error: the rollback failed too; it is tried again before the next batch'));
  assert.equal(clock.timers, 1);
  commits.close();
  assert.equal(clock.timers, 0);
});

test('the queue holds several batches and is bounded', deadline, async (t) => {
  const { commits, insert, committed } = setUp(t);
  const writes = Array.from({ length: 20_001 }, (_, i) => commits.write(() => insert(i + 1)));
  await assert.rejects(writes.pop() ?? Promise.resolve(), {
    code: 'STORE_UNAVAILABLE',
    message: '20000 writes already wait for the ledger; try again later',
  });
  await Promise.all(writes);
  assert.equal(committed().length, 20_000);
});

test('close commits queued writes and rejects later ones', deadline, async (t) => {
  const { commits, insert, committed } = setUp(t);
  const writes = Array.from({ length: 1000 }, (_, i) => commits.write(() => insert(i + 1)));
  commits.close();
  assert.equal(committed().length, 1000);
  await Promise.all(writes);
  await assert.rejects(
    commits.write(() => insert(5000)),
    { code: 'SHUTTING_DOWN' },
  );
});
