import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOW } from '@hermes-fleet/peers/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { createPersist, createPersistBehind } from './persist.ts';

/** A store that fails while it is full, and records its writes. */
function setUp() {
  const clock = manualClock(NOW);
  const closing = new AbortController();
  const store = {
    full: true,
    attempts: 0,
    kept: [] as number[],
    async write(n: number): Promise<number> {
      store.attempts += 1;
      if (store.full) throw new FleetError('STORE_UNAVAILABLE', 'disk full');
      store.kept.push(n);
      return n;
    },
  };
  const persist = createPersist({ clock, log: silentLog, fields: {}, signal: () => closing.signal });
  const write = (n: number): Promise<number> => persist(() => store.write(n));
  return { clock, closing, store, persist, write };
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate);
};

test('waiting writes are retried together, in the order of the calls', async () => {
  const { clock, store, write } = setUp();
  const early = [write(1), write(2)];
  await turns();
  assert.equal(store.attempts, 2);
  const late = write(3);
  await turns();
  assert.equal(store.attempts, 2, 'a later write waits behind them');
  clock.advance(5_000);
  await turns();
  assert.equal(store.attempts, 5);
  store.full = false;
  clock.advance(5_000);
  assert.deepEqual(await Promise.all([...early, late]), [1, 2, 3]);
  assert.deepEqual(store.kept, [1, 2, 3]);
  const asked = write(4);
  assert.equal(store.attempts, 9, 'at once, when nothing waits');
  assert.equal(await asked, 4);
});

test('a write with a signal of its own is retried behind the others, and after their abort', async () => {
  const { clock, closing: aborted, store, persist, write } = setUp();
  const { signal } = new AbortController();
  const longer = (n: number): Promise<number> => persist(() => store.write(n), signal);
  const both = [write(1), longer(2)];
  await turns();
  store.full = false;
  clock.advance(5_000);
  assert.deepEqual(await Promise.all(both), [1, 2]);
  assert.deepEqual(store.kept, [1, 2]);
  store.full = true;
  const lost = write(3);
  const kept = longer(4);
  await turns();
  aborted.abort();
  await assert.rejects(lost, { code: 'STORE_UNAVAILABLE' });
  await turns();
  store.full = false;
  clock.advance(5_000);
  assert.equal(await kept, 4);
  assert.deepEqual(store.kept, [1, 2, 4]);
});

test('an abort ends the pause of all, so that the order of the calls is kept', async () => {
  const { closing: aborted, store, persist, write } = setUp();
  const longer = persist(() => store.write(1), new AbortController().signal);
  await turns();
  const shorter = write(2);
  store.full = false;
  aborted.abort();
  assert.deepEqual(await Promise.all([longer, shorter]), [1, 2]);
  assert.deepEqual(store.kept, [1, 2]);
});

test('the log line of a failed write names the task', async () => {
  const lines: object[] = [];
  const closing = new AbortController();
  const persist = createPersist({
    clock: manualClock(NOW),
    log: { ...silentLog, warn: (fields) => void lines.push(fields) },
    fields: { task_id: 'one' },
    signal: () => closing.signal,
  });
  const err = new FleetError('STORE_UNAVAILABLE', 'disk full');
  const waiting = persist(() => Promise.reject(err));
  await turns();
  assert.deepEqual(lines, [{ task_id: 'one', err, failures: 1 }]);
  closing.abort();
  await assert.rejects(waiting, err);
});

test('an abort throws the error of the store, and other errors are thrown at once', async () => {
  const { closing, store, write } = setUp();
  const waiting = [write(1), write(2)];
  await turns();
  closing.abort();
  for (const each of waiting) await assert.rejects(each, { code: 'STORE_UNAVAILABLE' });
  assert.equal(store.attempts, 4);
  const other = createPersist({
    clock: manualClock(NOW),
    log: silentLog,
    fields: {},
    signal: () => AbortSignal.any([]),
  });
  await assert.rejects(
    other(() => Promise.reject(new FleetError('TASK_NOT_FOUND', 'gone'))),
    { code: 'TASK_NOT_FOUND' },
  );
});

/** Writes behind a first one that the test tries, and then stores or gives up. */
function setUpBehind() {
  const base = setUp();
  const stored = Promise.withResolvers<boolean>();
  const first = { stored: stored.promise, isTrying: true };
  const aborting = new AbortController();
  const behind = createPersistBehind(base.persist, {
    stored: first.stored,
    isTrying: () => first.isTrying,
    signal: () => aborting.signal,
  });
  return {
    ...base,
    first,
    aborting,
    storeFirst: stored.resolve,
    write: (n: number, signal?: AbortSignal): Promise<number> => behind(() => base.store.write(n), signal),
  };
}

test('writes behind the first one begin in its turn, and resolve after it', async () => {
  const { store, write, storeFirst } = setUpBehind();
  store.full = false;
  const resolved: number[] = [];
  for (const n of [1, 2]) void write(n).then((value) => resolved.push(value));
  assert.deepEqual(store.kept, [1, 2]);
  await turns();
  assert.deepEqual(resolved, []);
  storeFirst(true);
  await turns();
  assert.deepEqual(resolved, [1, 2]);
  assert.equal(await write(3), 3);
});

test('writes that fail with the first one are tried when it is stored, in the order of the calls', async () => {
  const { store, first, write, storeFirst } = setUpBehind();
  const early = [write(1), write(2)];
  await turns();
  first.isTrying = false;
  store.full = false;
  const late = write(3);
  await turns();
  assert.equal(store.attempts, 2, 'none overtakes the first');
  storeFirst(true);
  assert.deepEqual(await Promise.all([...early, late]), [1, 2, 3]);
  assert.deepEqual(store.kept, [1, 2, 3]);
});

test('writes behind a first one that is not stored reject, also where they seemed to succeed', async () => {
  const { store, first, write, storeFirst } = setUpBehind();
  store.full = false;
  const early = write(1);
  await turns();
  first.isTrying = false;
  const late = write(2);
  storeFirst(false);
  for (const each of [early, late]) await assert.rejects(each, { code: 'INTERNAL' });
  await assert.rejects(write(3), { code: 'INTERNAL' });
  assert.deepEqual(store.kept, [1]);
});

test('an abort ends the wait for the first write, except for a write with a signal of its own', async () => {
  const { aborting, store, first, write, storeFirst } = setUpBehind();
  const early = write(1);
  const own = write(2, new AbortController().signal);
  await turns();
  first.isTrying = false;
  const late = write(3);
  const reason = new FleetError('CANCELED', 'canceled');
  aborting.abort(reason);
  await assert.rejects(early, reason);
  await assert.rejects(late, reason);
  await assert.rejects(write(4), reason);
  store.full = false;
  storeFirst(true);
  assert.equal(await own, 2);
  assert.deepEqual(store.kept, [2]);
});
