import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerTask } from '@hermes-fleet/a2a';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { decodeResult } from '@hermes-fleet/protocol/handshake';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import {
  client,
  deciding,
  IN_TIME,
  message,
  part,
  peer,
  taskOf,
} from '../../testing/transports/a2a-client.ts';
import { at, decision, GRID, openTransports, TREND } from '../../testing/transports/transports.ts';

test('a decision is a task, and its TASK_RESULT has the response as output', async (t) => {
  const failing = new Set([TREND]);
  const transports = await openTransports(t, {
    runtime: {
      reconcile: async ({ activeStrategyId }) => {
        if (failing.has(activeStrategyId ?? '')) throw new FleetError('INTERNAL', 'it does not start');
        return { canceledOrders: 0 };
      },
    },
  });
  const cases: [payload: JsonObject, response: string, state: string, status: string][] = [
    [decision({ decision_id: 'd1' }), 'applied', 'completed', 'done'],
    [decision({ decision_id: 'd2' }), 'noop', 'completed', 'done'],
    [decision({ decision_id: 'd3', action: 'keep' }), 'rejected', 'rejected', 'blocked'],
    [
      decision({ decision_id: 'd4', action: 'switch', target_strategy_id: TREND }),
      'failed',
      'failed',
      'error',
    ],
  ];
  for (const [payload, response, state, status] of cases) {
    const task = await taskOf(transports, payload, `m-${payload.decision_id}`);
    assert.equal(task.state, state);
    const [wire] = task.data;
    const result = decodeResult(wire);
    assert.deepEqual(
      [result.status, result.taskId, result.executedBy, result.tokensSpent],
      [status, `m-${payload.decision_id}`, 'trader', 0],
    );
    assert.deepEqual(
      [at(result.output, 'status'), at(result.output, 'decision_id')],
      [response, payload.decision_id],
    );
  }
  const [blocked, failed] = transports.ledger.list({ states: ['rejected', 'failed'], pageSize: 10 }).tasks;
  const types = [blocked, failed].map((task) =>
    transports.ledger.events(task?.id ?? '').map(({ type }) => type),
  );
  assert.deepEqual(types.flat().sort(), ['blocked', 'error', 'submitted', 'submitted']);
});

test('its events on the bus omit the reason and the response', async (t) => {
  const transports = await openTransports(t);
  await taskOf(transports, decision({ reason: 'a secret of the house' }));
  await taskOf(transports, decision({ reason: 'a secret of the house', action: 'keep' }));
  const events = transports.ledger.outbox.read(0, 100).map(({ event }) => event);
  assert.doesNotMatch(JSON.stringify(events), /secret of the house|decision_id/);
  const [done, blocked] = events.filter(({ type }) => /done|blocked/.test(type)).map(({ data }) => data);
  assert.deepEqual(
    [at(done, 'status'), at(done, 'tokens_spent'), at(done, 'executed_by')],
    ['done', 0, 'trader'],
  );
  assert.deepEqual(
    [at(blocked, 'reason'), at(blocked, 'unmet', 0)],
    ['peer', { kind: 'peer', name: 'unsupported_action' }],
  );
});

test('a stream carries the same result', async (t) => {
  const transports = await openTransports(t);
  const states: string[] = [];
  let last: PeerTask | undefined;
  const stream = client.stream(peer(transports), deciding(decision({ decision_id: 'streamed' })), {
    idleTimeoutMs: 30_000,
    signal: new AbortController().signal,
  });
  for await (const reply of stream) {
    assert.ok(reply.kind === 'task');
    last = reply.task;
    states.push(reply.task.state);
  }
  assert.equal(states.at(-1), 'completed');
  const output = last?.data.find((each) => each.type === 'TASK_RESULT')?.output;
  assert.deepEqual([at(output, 'status'), at(output, 'decision_id')], ['applied', 'streamed']);
});

test('a non-blocking caller gets a task and finds the response there', async (t) => {
  const transports = await openTransports(t);
  const reply = await client.send(peer(transports), { ...deciding(decision()), blocking: false }, IN_TIME);
  assert.ok(reply.kind === 'task');
  for await (const task of client.watch(peer(transports), reply.task.id, {
    idleTimeoutMs: 30_000,
    signal: new AbortController().signal,
  }))
    if (task.terminal) assert.equal(at(task.data[0], 'output', 'status'), 'applied');
});

test('a copy of a message answers with the same task; another payload under its id is refused and audited', async (t) => {
  const transports = await openTransports(t);
  const payload = decision();
  const copies = await Promise.all(Array.from({ length: 20 }, () => taskOf(transports, payload, 'm-1')));
  assert.equal(new Set(copies.map(({ id }) => id)).size, 1);
  assert.ok(copies.every(({ data }) => at(data[0], 'output', 'status') === 'applied'));
  const tried = transports.audited().map(({ text, status }) => [text === JSON.stringify(payload), status]);
  assert.equal(tried.filter(([isIt, status]) => isIt && status === 'applied').length, 1);
  assert.equal(tried.filter(([isIt, status]) => isIt && status === 'noop').length, 19);
  const other = decision();
  const body = message([part(other)], { messageId: 'm-1' });
  const answer = await transports.post('/jsonrpc', body);
  assert.equal(at(answer.body, 'error', 'data', 0, 'reason'), 'TASK_ID_CONFLICT');
  assert.match(String(at(answer.body, 'error', 'message')), /messageId "m-1" was used for another message/);
  assert.deepEqual(
    transports.audited().map(({ text, codes }) => [text, codes]),
    [[JSON.stringify(other), ['invalid_payload']]],
  );
});

test('a copy that cannot be audited is refused, and its task stays unchanged', async (t) => {
  const reconcile = async () => {
    throw new FleetError('INTERNAL', 'it does not start');
  };
  for (const [runtime, state] of [
    [{}, 'completed'],
    [{ reconcile }, 'failed'],
  ] as const) {
    const transports = await openTransports(t, { runtime });
    const payload = decision();
    const { id } = await taskOf(transports, payload, 'm-1');
    await transports.store.close();
    const answer = await transports.post('/jsonrpc', message([part(payload)], { messageId: 'm-1' }));
    assert.equal(at(answer.body, 'error', 'data', 0, 'reason'), 'STORE_UNAVAILABLE', state);
    assert.equal(transports.ledger.get(id)?.state, state);
  }
});

test('a message that is not one decision alone is refused clearly, and all of it is audited', async (t) => {
  const transports = await openTransports(t);
  const [a, b] = [decision(), decision()];
  const twice = `{"type":"CONTROL_DECISION","payload":${JSON.stringify(a)},"payload":${JSON.stringify(b)}}`;
  const texts = (...payloads: object[]) => payloads.map((payload) => JSON.stringify(payload));
  const open = (await taskOf(transports, decision())).id;
  transports.audited();
  const cases: [what: string, body: string, audited: string[], words: RegExp][] = [
    ['two decisions', message([part(a), part(b)]), texts(a, b), /a message for each/],
    [
      'a dispatch beside it',
      message([{ data: { type: 'TASK_DISPATCH' } }, part(a)]),
      texts(a),
      /a message for each/,
    ],
    [
      'two payloads',
      message([part(1)]).replace(/"data":\{.*?\}/, () => `"data":${twice}`),
      [twice],
      /one payload/,
    ],
  ];
  for (const [what, body, audited, words] of cases) {
    const answer = await transports.post('/jsonrpc', body);
    assert.equal(at(answer.body, 'error', 'code'), -32602, what);
    assert.match(String(at(answer.body, 'error', 'message')), words, what);
    assert.deepEqual(
      transports.audited().map(({ text, codes, transport }) => [text, codes, transport]),
      audited.map((text) => [text, ['invalid_payload'], 'a2a']),
      what,
    );
  }
  const late = await transports.post('/jsonrpc', message([part(a)], { taskId: open }));
  assert.equal(at(late.body, 'error', 'code'), -32004);
  assert.deepEqual(transports.audited()[0]?.codes, ['invalid_payload']);
  assert.equal(transports.store.concern('qndd8o9ppop6:xrpusd')?.activeStrategyId, GRID);
  assert.equal(transports.passedOn.length, 0);
});

test('all other messages and cancellations go to the gateway', async (t) => {
  const transports = await openTransports(t);
  const others = [[{ text: 'hello' }], [{ data: { type: 'TASK_DISPATCH' } }], [{ data: 'CONTROL_DECISION' }]];
  for (const parts of others) await transports.post('/jsonrpc', message(parts));
  assert.equal(transports.passedOn.length, others.length);
  assert.deepEqual(transports.audited(), []);
  const caller = { name: 'operator', scopes: new Set<string>() };
  await transports.intake.cancel('some-task', caller);
  assert.deepEqual(transports.canceled, ['some-task']);
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const slow = await openTransports(t, {
    runtime: { reconcile: () => held.promise.then(() => ({ canceledOrders: 0 })) },
  });
  const reply = await client.send(peer(slow), { ...deciding(decision()), blocking: false }, IN_TIME);
  assert.ok(reply.kind === 'task');
  await assert.rejects(slow.intake.cancel(reply.task.id, caller), { code: 'TASK_NOT_CANCELABLE' });
  assert.deepEqual(slow.canceled, []);
});

test('its log lines have the IDs that find a task in the logs of all services', async (t) => {
  const log = recordingLog();
  const transports = await openTransports(t, { log });
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const { body } = await transports.post(
    '/jsonrpc',
    message([part(decision())], { messageId: 'pause-now' }),
    {
      headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` },
    },
  );
  assert.equal(at(body, 'error'), undefined, JSON.stringify(body));
  const fields = (await log.saw(/^decision accepted/)).fields as JsonObject;
  assert.deepEqual([fields.dispatch_id, fields.root_id, fields.trace_id], ['pause-now', 'pause-now', trace]);
  assert.equal(((await log.saw(/^a decision was answered/)).fields as JsonObject).trace_id, trace);
});
