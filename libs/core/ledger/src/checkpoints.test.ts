import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { openStore } from '@hermes-fleet/store';
import fc from 'fast-check';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { acceptTask } from './accept.ts';
import { createCheckpoints } from './checkpoints.ts';
import { createLiveTasks } from './live-tasks.ts';
import { LEDGER } from './schema.ts';
import { createSums } from './sums.ts';
import { createTaskWrites } from './task-writes.ts';

test('a task keeps its latest checkpoint until it ends, and gets none afterwards', async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  assert.equal(ledger.loadCheckpoint(id), undefined);
  await ledger.saveCheckpoint(id, { step: 1 });
  await ledger.saveCheckpoint(id, { step: 2, messages: ['a'] }, 'messages');
  const again = await reopen();
  assert.deepEqual(again.loadCheckpoint(id), { step: 2, messages: ['a'] });
  await again.append(id, { type: 'done', data: {} });
  assert.equal(again.loadCheckpoint(id), undefined);
  await again.saveCheckpoint(id, { step: 3 });
  assert.equal(again.loadCheckpoint(id), undefined);
  await assert.rejects(again.saveCheckpoint('nobody', {}), { code: 'TASK_NOT_FOUND' });
});

test('a growing field that is not a list is rejected without a change', async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  await ledger.saveCheckpoint(id, { step: 1 });
  const states: JsonObject[] = [{}, { messages: 'a' }];
  for (const state of states)
    await assert.rejects(
      ledger.saveCheckpoint(id, state, 'messages'),
      /messages of a checkpoint is not a list/,
    );
  assert.deepEqual(ledger.loadCheckpoint(id), { step: 1 });
});

test('a save writes only the new elements of the growing field', async (t) => {
  const { ledger, file } = openTestLedger(t);
  using db = new DatabaseSync(file, { readOnly: true });
  const rows = (): unknown[] =>
    db
      .prepare('SELECT rowid FROM checkpoint_parts ORDER BY place')
      .all()
      .map(({ rowid }) => rowid);
  const { id } = (await ledger.accept(newTask())).task;
  const [a, b, c]: JsonObject[] = [{ a: 1 }, { b: 2 }, { c: 3 }];
  assert.ok(a && b && c);
  await ledger.saveCheckpoint(id, { step: 1, messages: [a, b] }, 'messages');
  const first = rows();
  await ledger.saveCheckpoint(id, { step: 2, messages: [a, b, c] }, 'messages');
  assert.equal(first.length, 2);
  assert.deepEqual(rows().slice(0, 2), first);
  assert.deepEqual(ledger.loadCheckpoint(id), { step: 2, messages: [a, b, c] });
  const list = [a, b, c];
  await ledger.saveCheckpoint(id, { messages: list }, 'messages');
  list.push({ d: 4 });
  await ledger.saveCheckpoint(id, { messages: list }, 'messages');
  assert.deepEqual(ledger.loadCheckpoint(id), { messages: list });
  await ledger.append(id, { type: 'done', data: {} });
  assert.deepEqual(rows(), []);
});

test('a save that was rolled back is not mistaken for the previous one', async (t) => {
  const store = openStore({
    schema: LEDGER,
    file: join(tempDir(t, { closeFirst: () => store.close() }), 'ledger.db'),
    profile: 'neo',
    clock: manualClock(),
    ids: systemIds,
    log: silentLog,
  });
  let fails = false;
  const live = createLiveTasks();
  const writes = createTaskWrites(store, live);
  const checkpoints = createCheckpoints(
    {
      ...store,
      write: (transaction, onCommitted) =>
        store.write((db) => {
          const value = transaction(db);
          if (fails) throw new Error('rolled back');
          return value;
        }, onCommitted),
    },
    live,
    writes,
  );
  const scope = { clock: manualClock(), sums: createSums(store), writes };
  const { id } = newTask();
  await store.write((db) => acceptTask(db, scope, newTask({ id }), []));
  const [a, b, c]: JsonObject[] = [{ a: 1 }, { b: 2 }, { c: 3 }];
  assert.ok(a && b && c);
  await checkpoints.save(id, { list: [a] }, 'list');
  fails = true;
  await assert.rejects(checkpoints.save(id, { list: [a, b] }, 'list'));
  fails = false;
  assert.deepEqual(checkpoints.load(id), { list: [a] });
  await checkpoints.save(id, { list: [a, b, c] }, 'list');
  assert.deepEqual(checkpoints.load(id), { list: [a, b, c] });
});

test('an ended task uses no memory', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  let message: JsonObject | undefined = { text: 'x'.repeat(10) };
  const seen = new WeakRef(message);
  await ledger.saveCheckpoint(id, { messages: [message] }, 'messages');
  message = undefined;
  await new Promise(setImmediate);
  collect();
  assert.ok(seen.deref(), 'a running task keeps its last save');
  await ledger.append(id, { type: 'done', data: {} });
  await new Promise(setImmediate);
  collect();
  assert.equal(seen.deref(), undefined);
});

/** A save keeps a part of the previous list and appends to it. It may be awaited, and a restart may follow. */
const save = fc.record({
  keep: fc.nat({ max: 8 }),
  add: fc.array(
    fc.jsonValue().map((value) => value as JsonValue),
    { maxLength: 3 },
  ),
  growing: fc.boolean(),
  next: fc.constantFrom('continue', 'wait', 'restart'),
});

test('after any sequence of saves, the last one is loaded', deadline, async (t) => {
  const { ledger: opened, reopen } = openTestLedger(t);
  let ledger = opened;
  await fc.assert(
    fc.asyncProperty(fc.array(save, { maxLength: 12 }), async (saves) => {
      const { id } = (await ledger.accept(newTask())).task;
      let list: JsonValue[] = [];
      let last: JsonObject | undefined;
      const running: Promise<void>[] = [];
      for (const [step, { keep, add, growing, next }] of saves.entries()) {
        list = [...list.slice(0, keep), ...add];
        last = { step, list };
        running.push(ledger.saveCheckpoint(id, last, growing ? 'list' : undefined));
        if (next === 'continue') continue;
        await Promise.all(running);
        if (next === 'restart') ledger = await reopen();
        assert.deepEqual(ledger.loadCheckpoint(id), JSON.parse(JSON.stringify(last)));
      }
      await Promise.all(running);
      assert.deepEqual(ledger.loadCheckpoint(id), last && JSON.parse(JSON.stringify(last)));
    }),
    { numRuns: 60 },
  );
});
