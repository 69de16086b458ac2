import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { CloudEvent } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import { never, newTask, openTestLedger } from '../testing/harness.ts';

test('lifecycle events become CloudEvents; text never leaves the ledger', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { id } = (await ledger.accept(newTask({ key: 'k', traceparent }))).task;
  await ledger.append(id, { type: 'text', data: { text: 'secret' } });
  await ledger.append(id, { type: 'progress', data: { step: 1, caller: 'forged', nested: { a: [1] } } });
  const events = ledger.outbox.read(0, 10);
  assert.deepEqual(
    events.map(({ seq, subject }) => [seq, subject]),
    [
      [1, 'fleet.task.neo.submitted'],
      [3, 'fleet.task.neo.progress'],
    ],
  );
  assert.deepEqual(events[1]?.event, {
    specversion: '1.0',
    id: `neo:${ledger.id}:3`,
    source: '/profiles/neo',
    type: 'dev.hermes-fleet.task.progress.v1',
    subject: id,
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    traceparent,
    data: {
      step: 1,
      nested: { a: [1] },
      task_id: 'k',
      caller: 'switch',
      context_id: 'context-1',
      root_id: 'k',
      root_caller: 'switch',
    },
  });
  for (const { event } of events) CloudEvent.parse(event);
  const { id: plain } = (await ledger.accept(newTask())).task;
  const [event] = ledger.outbox.read(3, 10);
  assert.equal(event?.event.subject, plain);
  assert.ok(event && !('traceparent' in event.event));
});

test('the cursor moves only forward and survives a restart', deadline, async (t) => {
  const { ledger, clock, reopen } = openTestLedger(t);
  assert.deepEqual(ledger.outbox.backlog(), { count: 0, oldestAgeMs: 0 });
  const { id } = (await ledger.accept(newTask())).task;
  clock.advance(100);
  for (const type of ['started', 'text', 'progress', 'text', 'text', 'done']) {
    await ledger.append(id, { type, data: {} });
  }
  clock.advance(50);
  assert.equal(ledger.outbox.cursor(), 0);
  assert.deepEqual(ledger.outbox.backlog(), { count: 4, oldestAgeMs: 150 });
  await ledger.outbox.advance(3);
  assert.deepEqual(ledger.outbox.backlog(), { count: 2, oldestAgeMs: 50 });
  await ledger.outbox.advance(1);
  const again = await reopen();
  assert.equal(again.outbox.cursor(), 3);
  assert.deepEqual(again.outbox.backlog(), { count: 2, oldestAgeMs: 50 });
  assert.deepEqual(
    again.outbox.read(3, 1).map(({ seq }) => seq),
    [4],
  );
  await assert.rejects(again.outbox.advance(8), { message: /cannot advance to 8: its newest event is 7/ });
  await again.outbox.advance(7);
  assert.deepEqual(again.outbox.backlog(), { count: 0, oldestAgeMs: 0 });
  assert.deepEqual(again.outbox.read(7, 10), []);
});

test('a cursor beyond pruned events stays valid', deadline, async (t) => {
  const { ledger, clock } = openTestLedger(t);
  const running = (await ledger.accept(newTask())).task.id;
  const { id } = (await ledger.accept(newTask())).task;
  await ledger.append(id, { type: 'done', data: {} });
  await ledger.outbox.advance(3);
  clock.advance(1);
  await ledger.prune(clock.now(), 10);
  await ledger.outbox.advance(3);
  assert.equal(ledger.outbox.cursor(), 3);
  const waiting = ledger.outbox.wait(3, never);
  await ledger.append(running, { type: 'started', data: {} });
  await waiting;
  assert.deepEqual(
    ledger.outbox.read(3, 10).map(({ seq }) => seq),
    [4],
  );
});

test('a wait ends with the next lifecycle event, not with text', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  await ledger.outbox.wait(0, never);
  let woken = false;
  const waiting = ledger.outbox.wait(1, never).then(() => {
    woken = true;
  });
  await ledger.append(id, { type: 'text', data: {} });
  await new Promise(setImmediate);
  assert.equal(woken, false);
  await ledger.append(id, { type: 'started', data: {} });
  await waiting;
  assert.equal(ledger.outbox.read(1, 10).length, 1);
});

test('a wait rejects with the reason of its signal', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const reason = new Error('relay closed');
  const controller = new AbortController();
  const waiting = ledger.outbox.wait(0, controller.signal);
  controller.abort(reason);
  await assert.rejects(waiting, reason);
});

test('a start counts only the newest events, and the count is that of all', deadline, async (t) => {
  const { ledger, file, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const append = (type: string): Promise<unknown> => ledger.append(id, { type, data: {} });
  await Promise.all(Array.from({ length: 2_100 }, (_, n) => append(n % 3 === 0 ? 'text' : 'progress')));
  await append('progress');
  await append('progress');
  using db = new DatabaseSync(file, { readOnly: true });
  const counted = (): unknown[] => {
    const { counted_to, unpublished } = db.prepare('SELECT counted_to, unpublished FROM outbox').get() ?? {};
    return [counted_to, unpublished];
  };
  const [countedTo, unpublished] = counted();
  assert.ok(Number(countedTo) >= 2_000);
  assert.equal(
    unpublished,
    ledger.outbox.read(0, 10_000).filter(({ seq }) => seq <= Number(countedTo)).length,
  );
  const { count } = ledger.outbox.backlog();
  assert.equal(count, 1 + 1_400 + 2);
  const again = await reopen();
  assert.equal(again.outbox.backlog().count, count);
  await again.outbox.advance(1_000);
  const left = again.outbox.read(1_000, 10_000).length;
  assert.equal(again.outbox.backlog().count, left);
  assert.equal((await reopen()).outbox.backlog().count, left);
});
