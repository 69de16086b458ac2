import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { collect, never, newTask, openTestLedger } from '../testing/harness.ts';

test('a watcher sees past events, then new ones, and ends after the terminal event', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  await ledger.append(id, { type: 'started', data: {} });
  const early = collect(ledger.watch(id, 0, never));
  const late = collect(ledger.watch(id, 2, never));
  await ledger.append(id, { type: 'text', data: { text: 'a' } });
  await ledger.append((await ledger.accept(newTask())).task.id, { type: 'started', data: {} });
  await ledger.append(id, { type: 'done', data: {} });
  assert.deepEqual(await early, ['submitted', 'started', 'text', 'done']);
  assert.deepEqual(await late, ['text', 'done']);
  assert.deepEqual(await collect(ledger.watch(id, 0, never)), ['submitted', 'started', 'text', 'done']);
  assert.deepEqual(await collect(ledger.watch(id, ledger.get(id)?.lastSeq ?? 0, never)), []);
});

test('a slow watcher reads page by page and misses no event', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const seen: number[] = [];
  const watching = (async () => {
    for await (const { seq } of ledger.watch(id, 0, never)) {
      seen.push(seq);
      if (seen.length % 50 === 0) await new Promise(setImmediate);
    }
  })();
  for (let i = 0; i < 5; i += 1) {
    const texts = Array.from({ length: 100 }, () => ledger.append(id, { type: 'text', data: {} }));
    await Promise.all(texts);
  }
  await ledger.append(id, { type: 'error', data: {} });
  await watching;
  assert.deepEqual(
    seen,
    Array.from({ length: 502 }, (_, i) => i + 1),
  );
});

test('return ends a pending next at once', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const events = ledger.watch(id, 1, never);
  const pending = events.next();
  await new Promise(setImmediate);
  assert.deepEqual(await events.return?.(), { done: true, value: undefined });
  assert.deepEqual(await pending, { done: true, value: undefined });
  assert.deepEqual(await events.next(), { done: true, value: undefined });
});

test('a consumer that breaks out ends the watch', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const events = ledger.watch(id, 0, never);
  for await (const { type } of events) {
    assert.equal(type, 'submitted');
    break;
  }
  assert.deepEqual(await events.next(), { done: true, value: undefined });
});

test('an abort rejects with its reason, before and while waiting', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const reason = new Error('client went away');
  const controller = new AbortController();
  const events = ledger.watch(id, 1, controller.signal);
  const pending = events.next();
  await new Promise(setImmediate);
  controller.abort(reason);
  await assert.rejects(pending, reason);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
  await assert.rejects(ledger.watch(id, 0, controller.signal).next(), reason);
});

test('overlapping calls of next resolve in order', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const events = ledger.watch(id, 0, never);
  const answers = Promise.all([events.next(), events.next(), events.next()]);
  await ledger.append(id, { type: 'done', data: {} });
  assert.deepEqual(
    (await answers).map(({ value }) => value?.type),
    ['submitted', 'done', undefined],
  );
});

test('an unknown task is an error; pruning a watched task ends the watch', deadline, async (t) => {
  const { ledger, clock } = openTestLedger(t);
  await assert.rejects(ledger.watch('nobody', 0, never).next(), { code: 'TASK_NOT_FOUND' });
  const { id } = (await ledger.accept(newTask())).task;
  const events = ledger.watch(id, 0, never);
  assert.equal((await events.next()).value?.type, 'submitted');
  await ledger.append(id, { type: 'done', data: {} });
  await ledger.outbox.advance(2);
  clock.advance(1);
  assert.equal(await ledger.prune(clock.now(), 1), 1);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
});

test('closing the ledger ends every wait', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const watching = ledger.watch(id, 1, never).next();
  const relaying = ledger.outbox.wait(1, never);
  const outcomes = Promise.allSettled([watching, relaying]);
  await new Promise(setImmediate);
  await ledger.close();
  for (const outcome of await outcomes) {
    assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'SHUTTING_DOWN');
  }
});

test('thousands of watchers share one task and one signal, and all end', deadline, async (t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const { signal } = new AbortController();
  const watchers = Array.from({ length: 3000 }, () => collect(ledger.watch(id, 0, signal)));
  await new Promise(setImmediate);
  await ledger.append(id, { type: 'started', data: {} });
  await ledger.append(id, { type: 'done', data: {} });
  const seen = await Promise.all(watchers);
  assert.ok(seen.every((types) => types.join() === 'submitted,started,done'));
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});
