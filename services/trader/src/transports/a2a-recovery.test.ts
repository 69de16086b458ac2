import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { message, part, taskOf } from '../../testing/transports/a2a-client.ts';
import {
  at,
  callerNamed,
  codesOf,
  decision,
  type OpenTransports,
  openTransports,
} from '../../testing/transports/transports.ts';

/** A task that a crash interrupted between acceptance and decision. */
async function acceptOnly({ ledger }: Pick<OpenTransports, 'ledger'>, payload: JsonObject, caller: string) {
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
  const transports = await openTransports(t);
  const cutOff = (payload: JsonObject, caller: string) => acceptOnly(transports, payload, caller);
  // The first was decided before the crash, the second was not, the third's caller has lost its scope since.
  const payload = decision();
  await taskOf(transports, payload);
  transports.audited();
  const decided = await cutOff(payload, 'operator');
  const undecided = await cutOff(decision({ action: 'resume' }), 'operator');
  const robbed = await cutOff(decision(), 'reader');
  const foreign = await transports.ledger.accept({
    id: systemIds.uuid(),
    contextId: 'c',
    caller: 'operator',
    key: 'k',
    fingerprint: 'f',
    message: {},
    dispatch: { type: 'TASK_DISPATCH' },
  });
  await transports.intake.recover();
  const outputs = [decided, undecided, robbed].map(({ id }) => transports.ledger.get(id)?.result?.output);
  assert.deepEqual(
    outputs.map((output) => at(output, 'status')),
    ['noop', 'applied', 'rejected'],
  );
  assert.deepEqual(codesOf(outputs[2]), ['forbidden']);
  assert.deepEqual(
    transports.audited().map(({ text, transport }) => [text, transport]),
    [decided, undecided, robbed].map(({ text }) => [text, 'a2a']),
  );
  assert.equal(transports.ledger.get(foreign.task.id)?.state, 'submitted');
  await transports.intake.recover();
  assert.deepEqual(transports.audited(), []);
});

test('the rate limit does not reject interrupted decisions that were applied before a crash', async (t) => {
  const transports = await openTransports(t, { limits: { perSecond: 5, burst: 3, keptForPause: 0 } });
  const payload = decision();
  await taskOf(transports, payload);
  const ids: string[] = [];
  for (let count = 0; count < 6; count += 1) ids.push((await acceptOnly(transports, payload, 'operator')).id);
  await transports.intake.recover();
  const outputs = ids.map((id) => transports.ledger.get(id)?.result?.output);
  assert.deepEqual(
    outputs.map((output) => at(output, 'status')),
    ids.map(() => 'noop'),
  );
});

test('a recovery that a stop interrupts leaves the rest to the next start', async (t) => {
  const transports = await openTransports(t, { limits: { perSecond: 0.1, burst: 1, keptForPause: 0 } });
  const payload = decision();
  await taskOf(transports, payload);
  const { id } = await acceptOnly(transports, payload, 'operator');
  const limited = Promise.withResolvers<void>();
  using _listener = transports.store.onHead(() => limited.resolve());
  const recovered = transports.intake.recover();
  const refused = assert.rejects(recovered, { code: 'SHUTTING_DOWN' });
  await limited.promise;
  await transports.intake.close();
  await refused;
  assert.equal(transports.ledger.get(id)?.state, 'submitted');
});

test('a closed transport takes no decision, waits for those in progress, and still audits', async (t) => {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const transports = await openTransports(t, {
    runtime: {
      reconcile: async () => {
        asked.resolve();
        await held.promise;
        return { canceledOrders: 0 };
      },
    },
  });
  const under = taskOf(transports, decision());
  await asked.promise;
  const closed = transports.intake.close();
  const late = JSON.stringify(decision());
  const answer = await transports.post('/jsonrpc', message([part(JSON.parse(late))]));
  assert.deepEqual([answer.status, at(answer.body, 'error', 'data', 0, 'reason')], [503, 'SHUTTING_DOWN']);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  assert.ok(transports.audited().some(({ text, status }) => text === late && status === 'rejected'));
  held.resolve();
  await closed;
  assert.equal(at((await under).data[0], 'output', 'status'), 'applied');
});

test('a result is written as soon as the ledger is writable', async (t) => {
  const transports = await openTransports(t);
  const { append } = transports.ledger;
  let refusals = 2;
  transports.ledger.append = (...args) => {
    if (refusals === 0) return append(...args);
    refusals -= 1;
    return Promise.reject(new FleetError('STORE_UNAVAILABLE', 'the disk is full'));
  };
  const task = await taskOf(transports, decision());
  assert.deepEqual([task.state, refusals], ['completed', 0]);
});

test('an unexpected error ends its task and does not reach the caller', async (t) => {
  const transports = await openTransports(t);
  transports.decisions.decide = () => Promise.reject(new Error('secret: /etc/hermes/token'));
  const task = await taskOf(transports, decision());
  assert.equal(task.state, 'failed');
  assert.equal(at(task.data[0], 'error', 'code'), 'internal');
  assert.doesNotMatch(JSON.stringify(task), /secret/);
});

test('a decision without its source text is refused', async (t) => {
  const transports = await openTransports(t);
  const data = [{ data: { type: 'CONTROL_DECISION', payload: decision() }, mediaType: undefined }];
  const message = { messageId: 'm', contextId: undefined, taskId: undefined, text: '', data, raw: {} };
  await assert.rejects(transports.intake.accept(message, callerNamed('operator')), { code: 'INTERNAL' });
  assert.deepEqual(transports.ledger.unfinished(), []);
});

test('a decision that the ledger cannot store is refused as retryable, and audited', async (t) => {
  const transports = await openTransports(t);
  transports.ledger.accept = () => Promise.reject(new FleetError('STORE_UNAVAILABLE', 'the disk is full'));
  const payload = decision();
  const answer = await transports.post('/jsonrpc', message([part(payload)]));
  assert.deepEqual(
    [answer.status, at(answer.body, 'error', 'data', 0, 'reason')],
    [503, 'STORE_UNAVAILABLE'],
  );
  assert.deepEqual(
    transports.audited().map(({ text, codes }) => [text, codes]),
    [[JSON.stringify(payload), ['store_unavailable']]],
  );
});
