import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError, type JsonObject, systemIds } from '@hermes-fleet/protocol';
import { message, part, taskOf } from './testing/a2a-client.ts';
import { at, callerNamed, codesOf, decision, type OpenDoors, openDoors } from './testing/transports.ts';

/** A task that a crash interrupted between acceptance and decision. */
async function acceptOnly({ ledger }: Pick<OpenDoors, 'ledger'>, payload: JsonObject, caller: string) {
  const text = JSON.stringify(payload);
  const { task } = await ledger.accept({
    id: systemIds.uuid(),
    contextId: 'c',
    caller,
    key: systemIds.uuid(),
    fingerprint: text,
    message: {},
    dispatch: { type: 'CONTROL_DECISION', payload_text: text },
  });
  return { id: task.id, text };
}

test('the next start decides interrupted decisions once', async (t) => {
  const doors = await openDoors(t);
  const cutOff = (payload: JsonObject, caller: string) => acceptOnly(doors, payload, caller);
  // The first was decided before the crash, the second was not, the third's caller has lost its scope since.
  const payload = decision();
  await taskOf(doors, payload);
  doors.audited();
  const decided = await cutOff(payload, 'operator');
  const undecided = await cutOff(decision({ action: 'resume' }), 'operator');
  const robbed = await cutOff(decision(), 'reader');
  const foreign = await doors.ledger.accept({
    id: systemIds.uuid(),
    contextId: 'c',
    caller: 'operator',
    key: 'k',
    fingerprint: 'f',
    message: {},
    dispatch: { type: 'TASK_DISPATCH' },
  });
  await doors.intake.recover();
  const outputs = [decided, undecided, robbed].map(({ id }) => doors.ledger.get(id)?.result?.output);
  assert.deepEqual(
    outputs.map((output) => at(output, 'status')),
    ['noop', 'applied', 'rejected'],
  );
  assert.deepEqual(codesOf(outputs[2]), ['forbidden']);
  assert.deepEqual(
    doors.audited().map(({ text, door }) => [text, door]),
    [decided, undecided, robbed].map(({ text }) => [text, 'a2a']),
  );
  assert.equal(doors.ledger.get(foreign.task.id)?.state, 'submitted');
  await doors.intake.recover();
  assert.deepEqual(doors.audited(), []);
});

test('the rate limit does not reject interrupted decisions that were applied before a crash', async (t) => {
  const doors = await openDoors(t, { limits: { perSecond: 5, burst: 3, keptForPause: 0 } });
  const payload = decision();
  await taskOf(doors, payload);
  const ids: string[] = [];
  for (let count = 0; count < 6; count += 1) ids.push((await acceptOnly(doors, payload, 'operator')).id);
  await doors.intake.recover();
  const outputs = ids.map((id) => doors.ledger.get(id)?.result?.output);
  assert.deepEqual(
    outputs.map((output) => at(output, 'status')),
    ids.map(() => 'noop'),
  );
});

test('a recovery that a stop interrupts leaves the rest to the next start', async (t) => {
  const doors = await openDoors(t, { limits: { perSecond: 0.1, burst: 1, keptForPause: 0 } });
  const payload = decision();
  await taskOf(doors, payload);
  const { id } = await acceptOnly(doors, payload, 'operator');
  const limited = Promise.withResolvers<void>();
  using _listener = doors.store.onHead(() => limited.resolve());
  const recovered = doors.intake.recover();
  const refused = assert.rejects(recovered, { code: 'SHUTTING_DOWN' });
  await limited.promise;
  await doors.intake.close();
  await refused;
  assert.equal(doors.ledger.get(id)?.state, 'submitted');
});

test('a closed transport takes no decision, waits for those in progress, and still audits', async (t) => {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const doors = await openDoors(t, {
    runtime: {
      reconcile: async () => {
        asked.resolve();
        await held.promise;
        return { canceledOrders: 0 };
      },
    },
  });
  const under = taskOf(doors, decision());
  await asked.promise;
  const closed = doors.intake.close();
  const late = JSON.stringify(decision());
  const answer = await doors.post('/jsonrpc', message([part(JSON.parse(late))]));
  assert.deepEqual([answer.status, at(answer.body, 'error', 'data', 0, 'reason')], [503, 'SHUTTING_DOWN']);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  assert.ok(doors.audited().some(({ text, status }) => text === late && status === 'rejected'));
  held.resolve();
  await closed;
  assert.equal(at((await under).data[0], 'output', 'status'), 'applied');
});

test('a result is written as soon as the ledger is writable', async (t) => {
  const doors = await openDoors(t);
  const { append } = doors.ledger;
  let refusals = 2;
  doors.ledger.append = (...args) => {
    if (refusals === 0) return append(...args);
    refusals -= 1;
    return Promise.reject(new FleetError('STORE_UNAVAILABLE', 'the disk is full'));
  };
  const task = await taskOf(doors, decision());
  assert.deepEqual([task.state, refusals], ['completed', 0]);
});

test('an unexpected error ends its task and does not reach the caller', async (t) => {
  const doors = await openDoors(t);
  doors.desk.decide = () => Promise.reject(new Error('secret: /etc/hermes/token'));
  const task = await taskOf(doors, decision());
  assert.equal(task.state, 'failed');
  assert.equal(at(task.data[0], 'error', 'code'), 'internal');
  assert.doesNotMatch(JSON.stringify(task), /secret/);
});

test('a decision without its source text is refused', async (t) => {
  const doors = await openDoors(t);
  const data = [{ data: { type: 'CONTROL_DECISION', payload: decision() }, mediaType: undefined }];
  const message = { messageId: 'm', contextId: undefined, taskId: undefined, text: '', data, raw: {} };
  await assert.rejects(doors.intake.accept(message, callerNamed('operator')), { code: 'INTERNAL' });
  assert.deepEqual(doors.ledger.unfinished(), []);
});

test('a decision that the ledger cannot store is refused as retryable, and audited', async (t) => {
  const doors = await openDoors(t);
  doors.ledger.accept = () => Promise.reject(new FleetError('STORE_UNAVAILABLE', 'the disk is full'));
  const payload = decision();
  const answer = await doors.post('/jsonrpc', message([part(payload)]));
  assert.deepEqual(
    [answer.status, at(answer.body, 'error', 'data', 0, 'reason')],
    [503, 'STORE_UNAVAILABLE'],
  );
  assert.deepEqual(
    doors.audited().map(({ text, codes }) => [text, codes]),
    [[JSON.stringify(payload), ['store_unavailable']]],
  );
});
