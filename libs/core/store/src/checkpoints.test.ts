import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { deadline, manualClock, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { THINGS } from '../testing/things.ts';
import { startCheckpointThread } from './checkpoint-thread.ts';
import { createCheckpoints } from './checkpoints.ts';
import { openConnections } from './database.ts';
import { emptyLog } from './rewrite.ts';
import { createStore } from './store.ts';

const PAGE = 4096;
const PAGES = 50;

/** A store whose log is checkpointed from 50 pages on. */
function open(t: TestContext) {
  const file = join(tempDir(t), 'things.db');
  const log = recordingLog();
  const connections = openConnections(file, THINGS, () => 'id');
  const store = createStore({ schema: THINGS, clock: manualClock(), log }, connections, PAGES);
  t.after(store.close);
  const add = (pages = 1): Promise<unknown> =>
    store.write((db) => db.run('INSERT INTO things (b) VALUES (zeroblob(?))', pages * PAGE));
  return { file, log, store, add, ...connections };
}

const logBytes = (file: string): number => statSync(`${file}-wal`).size;

test('the log of a writer that never pauses stays bounded, and starts again', deadline, async (t) => {
  const { file, log, store, add } = open(t);
  let largest = 0;
  for (let round = 0; round < 100; round += 1) {
    await Promise.all(Array.from({ length: 8 }, () => add(4)));
    largest = Math.max(largest, logBytes(file));
  }
  // 100 rounds write more than 3,200 pages. The last batch before the bound may exceed it.
  assert.ok(largest < (4 * PAGES + 64) * PAGE * 1.05, `${largest} bytes`);
  assert.equal(
    store.read((db) => db.get('SELECT count(*) AS n FROM things')?.n),
    800,
  );
  assert.deepEqual(log.messages, []);
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  assert.ok(links.filter((path) => path === file).length <= 3, 'the connections of the thread stay open');
});

test('a reader of another connection that keeps the log stops no write', deadline, async (t) => {
  const { file, add } = open(t);
  await add();
  const reader = new DatabaseSync(file, { readOnly: true });
  t.after(() => reader.close());
  const asked = t.mock.method(Worker.prototype, 'postMessage');
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM things').get();
  for (let round = 0; round < 40; round += 1) await add(20);
  assert.ok(logBytes(file) > 800 * PAGE);
  // One whenever the log has grown by so much that a checkpoint is due.
  const checkpoints = asked.mock.callCount();
  assert.ok(checkpoints <= 850 / PAGES, `${checkpoints} checkpoints`);
  reader.exec('COMMIT');
  // The log starts again with the first write after a checkpoint has moved all of it.
  const size = logBytes(file);
  for (let round = 0; round < 40; round += 1) await add(20);
  assert.ok(logBytes(file) <= size + 4 * PAGES * PAGE * 1.05, `${logBytes(file)} bytes after ${size}`);
});

test('a close during a checkpoint leaves one file with everything that was written', deadline, async (t) => {
  for (let round = 0; round < 12; round += 1) {
    const { file, log, store, add } = open(t);
    // The second write waits for a checkpoint, so the thread has started.
    await add(5 * PAGES);
    await add(40 * PAGES);
    for (let turn = 0; turn < round; turn += 1) await new Promise(setImmediate);
    store.close();
    assert.deepEqual([existsSync(`${file}-wal`), log.messages], [false, []]);
    using db = new DatabaseSync(file, { readOnly: true });
    assert.equal(db.prepare('SELECT sum(length(b)) AS n FROM things').get()?.n, 45 * PAGES * PAGE);
  }
});

test('emptying the log waits for the checkpoint that runs', deadline, async (t) => {
  const { file, store, add } = open(t);
  for (let round = 0; round < 20; round += 1) {
    await add(3 * PAGES);
    store.emptyLog();
    assert.equal(logBytes(file), 0);
    if (round % 4 === 0) store.rewrite();
  }
});

/** Ends without closing its store, after writes that each reach the bound of the log, and wait for the checkpoint before. */
const LEAVING = `
  import { silentLog as log, systemClock as clock } from '@hermes-fleet/protocol/ports';
  import { openConnections } from '${join(import.meta.dirname, 'database.ts')}';
  import { createStore } from '${join(import.meta.dirname, 'store.ts')}';
  import { THINGS } from '${join(import.meta.dirname, '../testing/things.ts')}';
  const connections = openConnections(process.argv[1], THINGS, () => 'id');
  const store = createStore({ schema: THINGS, clock, log }, connections, 50);
  const add = (bytes) => store.write((db) => db.run('INSERT INTO things (b) VALUES (zeroblob(?))', bytes));
  for (let round = 0; round < 5; round += 1) await add(2_000_000);
  console.log('acknowledged');`;

test('the thread does not keep a process alive, but the writes that wait for it do', deadline, async (t) => {
  const args = ['--input-type=module', '-e', LEAVING, join(tempDir(t), 'things.db')];
  // execFile rejects for an exit code other than 0; an unsettled await has 13.
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  assert.equal(stdout, 'acknowledged\n');
});

/** The checkpoints of a connection over a thread that first runs `code`, by default its own, and a write of so many pages. */
function withThread(t: TestContext, code?: () => void) {
  const file = join(tempDir(t), 'things.db');
  const log = recordingLog();
  const clock = manualClock();
  const { writer, assertInPlace } = openConnections(file, THINGS, () => 'id');
  const threads: Worker[] = [];
  const checkpoints = createCheckpoints({
    ...{ name: 'things', db: writer, clock, log, assertInPlace, checkpointPages: PAGES },
    startThread: (path, running) => {
      const thread = startCheckpointThread(path, running, threads.length === 0 ? code : undefined);
      threads.push(thread);
      return thread;
    },
  });
  t.after(() => {
    checkpoints.close();
    writer.close();
  });
  const fill = (pages: number): Promise<void> | undefined => {
    writer.exec(`INSERT INTO things (b) VALUES (zeroblob(${pages * PAGE}))`);
    return checkpoints.afterCommit();
  };
  const automatic = () => writer.prepare('PRAGMA wal_autocheckpoint').get()?.wal_autocheckpoint;
  /** Empties the log as `Store.emptyLog` does. */
  const empty = (): void => emptyLog(writer, 'things', checkpoints.awaitIdle);
  return { file, log, clock, threads, checkpoints, fill, automatic, empty };
}

test(
  'where a reader keeps the log, writing waits once for each checkpoint that is due',
  deadline,
  async (t) => {
    const { file, log, threads, fill } = withThread(t);
    fill(1);
    using reader = new DatabaseSync(file, { readOnly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM things').get();
    const waits = [fill(2 * PAGES) !== undefined];
    // The second checkpoint moves nothing, so a third one is not worth waiting for.
    for (let round = 0; round < 2; round += 1) await once(threads[0] ?? assert.fail(), 'message');
    for (const pages of [1, 5 * PAGES, 1, 1, PAGES, 1]) {
      const pause = fill(pages);
      waits.push(pause !== undefined);
      await pause;
    }
    assert.deepEqual([waits, log.messages], [[false, false, true, false, false, true, false], []]);
  },
);

/** The code of a thread that moves something of the log each time, and leaves what it then writes. */
const leaveSome = (): void => {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
  parentPort?.on('message', () => {
    const [reader, db] = [0, 1].map(() => new Database(new URL(workerData.url), { timeout: 2000 }));
    reader?.exec('BEGIN; SELECT count(*) FROM things');
    db?.exec('INSERT INTO things (b) VALUES (zeroblob(4096)); PRAGMA wal_checkpoint(PASSIVE)');
    reader?.close();
    db?.close();
    Atomics.store(workerData.running, 0, 0);
    parentPort?.postMessage(undefined);
  });
};

test('after two checkpoints that did not catch up, the next write waits for a third', deadline, async (t) => {
  const { threads, log, fill } = withThread(t, leaveSome);
  const waits = [fill(2 * PAGES)];
  const [thread] = threads;
  assert.ok(thread);
  await once(thread, 'message');
  waits.push(fill(1));
  await once(thread, 'message');
  waits.push(fill(1));
  await waits[2];
  assert.deepEqual([waits.map(Boolean), log.messages], [[false, false, true], []]);
});

test('a small log starts no thread', deadline, (t) => {
  const { threads, fill, automatic } = withThread(t, () => undefined);
  assert.deepEqual([fill(PAGES / 2), threads.length, automatic()], [undefined, 0, 0]);
});

const FAILURES: [string, () => void, RegExp][] = [
  ['ends', () => process.exit(3), /ended with code 3/],
  [
    'throws',
    () => {
      throw new Error('out of order');
    },
    /out of order/,
  ],
  [
    'cannot checkpoint',
    () => {
      const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
      const failures = ['Error: disk I/O error'];
      parentPort?.on('message', () => {
        Atomics.store(workerData.running, 0, 0);
        parentPort?.postMessage(failures.pop());
      });
    },
    /disk I\/O error/,
  ],
];
for (const [what, code, reason] of FAILURES)
  test(`when the thread ${what}, writes checkpoint themselves until it works again`, deadline, async (t) => {
    const { file, log, clock, threads, fill, automatic, empty } = withThread(t, code);
    await fill(5 * PAGES);
    assert.equal(automatic(), PAGES);
    assert.equal(log.messages.length, 1);
    assert.match(
      log.messages[0] ?? '',
      /^error: the checkpoint thread of the things failed; writes checkpoint/,
    );
    assert.match(String(Object(log.entries[0]?.fields).err), reason);
    for (let round = 0; round < 20; round += 1) assert.equal(fill(PAGES), undefined);
    assert.ok(logBytes(file) < 7 * PAGES * PAGE, `${logBytes(file)} bytes`);
    empty();
    assert.equal(logBytes(file), 0);
    assert.equal(log.messages.length, 1);

    clock.advance(60_000);
    fill(1);
    await once(threads.at(-1) ?? assert.fail(), 'message');
    assert.deepEqual(log.messages.slice(1), ['info: the checkpoint thread of the things works again']);
    assert.deepEqual([automatic(), clock.timers], [0, 0]);
    assert.notEqual(fill(5 * PAGES), undefined);
  });

test('a thread that hangs is given up after the deadline', deadline, async (t) => {
  const { file, log, clock, threads, checkpoints, fill, automatic, empty } = withThread(t, () =>
    setInterval(() => undefined, 1000),
  );
  const pause = fill(5 * PAGES);
  assert.equal(clock.timers, 1);
  clock.advance(30_000);
  const wait = t.mock.method(Atomics, 'wait');
  assert.equal(checkpoints.awaitIdle(), false);
  assert.deepEqual(
    wait.mock.calls.map((call) => call.arguments[3]),
    [0],
  );
  clock.advance(60_000);
  assert.deepEqual([fill(1), threads.length], [undefined, 1]);
  await pause;
  assert.deepEqual([automatic(), clock.timers], [PAGES, 0]);
  assert.match(String(Object(log.entries[0]?.fields).err), /longer than 30000 ms/);

  await threads[0]?.terminate();
  empty();
  assert.equal(logBytes(file), 0);
  fill(1);
  await once(threads[1] ?? assert.fail(), 'message');
  assert.deepEqual(log.messages.slice(1), ['info: the checkpoint thread of the things works again']);
});
