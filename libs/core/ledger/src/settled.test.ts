import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { never, newTask, openTestLedger } from '../testing/harness.ts';

for (const ending of ['done', 'input_required'])
  test(`a wait ends with the task as ${ending} left it`, deadline, async (t) => {
    const { ledger } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    const waits = [ledger.settled(id, never), ledger.settled(id, never)];
    await ledger.append(id, { type: 'started', data: {} });
    const event = await ledger.append(id, { type: ending, data: {} });
    for (const record of await Promise.all(waits)) {
      assert.equal(record.lastSeq, event?.seq);
      assert.deepEqual(record, ledger.get(id));
    }
    assert.deepEqual(await ledger.settled(id, never), ledger.get(id));
  });

test('a wait after a restart ends too', deadline, async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const again = await reopen();
  const waiting = again.settled(id, never);
  await again.append(id, { type: 'done', data: {} }, { result: { status: 'done' } });
  assert.deepEqual((await waiting).result, { status: 'done' });
});

test('an abort ends a wait with its reason, and no wait leaks', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const controller = new AbortController();
  const reason = new Error('client went away');
  const waiting = ledger.settled(id, controller.signal);
  await new Promise(setImmediate);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1);
  controller.abort(reason);
  await assert.rejects(waiting, reason);
  await assert.rejects(ledger.settled(id, controller.signal), reason);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
});

test('an unknown task is an error; closing the ledger ends every wait', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  await assert.rejects(ledger.settled('nobody', never), { code: 'TASK_NOT_FOUND' });
  const { id } = (await ledger.accept(newTask())).task;
  const outcome = Promise.allSettled([ledger.settled(id, never)]);
  await new Promise(setImmediate);
  await ledger.close();
  const [waited] = await outcome;
  assert.ok(waited?.status === 'rejected' && waited.reason.code === 'SHUTTING_DOWN');
});
