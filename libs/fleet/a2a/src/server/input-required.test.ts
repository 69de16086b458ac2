import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Role, type SendMessageRequest, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import type { Ledger } from '@hermes-fleet/ledger';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { finish } from '../../testing/script.ts';
import { at, message, type Served, serve, TOKEN } from '../../testing/serve.ts';
import { openStream, type SseMessage } from '../../testing/sse.ts';

const QUESTIONS = ['Which room?', 'Which wall?'];

/** A task that asks twice and ends with the answers. */
async function play(ledger: Ledger, id: string): Promise<void> {
  await ledger.append(id, { type: 'started', data: {} });
  await ledger.append(id, { type: 'text', data: { text: 'Well. ' } });
  for (const [nth, text] of QUESTIONS.entries()) {
    const asked = await ledger.ask(id, { key: `q${nth}`, text });
    for await (const { type } of ledger.watch(id, asked?.seq ?? 0, AbortSignal.timeout(20_000)))
      if (type === 'answered') break;
    await ledger.append(id, { type: 'progress', data: {} }, { state: 'working' });
  }
  const answers = ledger.questions(id).map(({ answer }) => answer?.text);
  await finish(ledger, id, 'done', { text: answers.join(', ') });
}

const asking = async (t: Parameters<typeof serve>[0]): Promise<Served> => {
  const served: Served = await serve(t, { script: (id) => play(served.ledger, id) });
  return served;
};

const answer = (taskId: string, text: string, messageId: string): JsonObject =>
  message(text, { taskId, messageId });

const textsOf = (messages: unknown): unknown[] =>
  (Array.isArray(messages) ? messages : []).map((one) => [at(one, 'role'), at(one, 'parts', 0, 'text')]);

const statusOf = (task: unknown): unknown[] => [
  at(task, 'status', 'state'),
  at(task, 'status', 'message', 'parts', 0, 'text'),
];

test('a task that asks has its question in its status and the earlier messages in its history', async (t) => {
  const served = await asking(t);
  const first = at((await served.rpc('SendMessage', message('Paint.'))).body, 'result', 'task');
  assert.deepEqual(statusOf(first), ['TASK_STATE_INPUT_REQUIRED', 'Which room?']);
  assert.deepEqual(textsOf(at(first, 'history')), [['ROLE_USER', 'Paint.']]);
  const id = String(at(first, 'id'));
  assert.equal(at(first, 'status', 'message', 'taskId'), id);

  const reply = await served.rpc('SendMessage', answer(id, 'The blue one.', 'm-2'));
  const second = at(reply.body, 'result', 'task');
  assert.deepEqual(statusOf(second), ['TASK_STATE_INPUT_REQUIRED', 'Which wall?']);
  const said = [
    ['ROLE_USER', 'Paint.'],
    ['ROLE_AGENT', 'Which room?'],
    ['ROLE_USER', 'The blue one.'],
  ];
  assert.deepEqual(textsOf(at(second, 'history')), said);
  assert.equal(at(second, 'history', 1, 'messageId'), at(first, 'status', 'message', 'messageId'));
  assert.deepEqual(at(second, 'history', 2, 'messageId'), 'm-2');

  const listed = await served.rpc('ListTasks', { status: 'TASK_STATE_INPUT_REQUIRED', historyLength: 2 });
  assert.deepEqual(statusOf(at(listed.body, 'result', 'tasks', 0)), statusOf(second));
  assert.deepEqual(textsOf(at(listed.body, 'result', 'tasks', 0, 'history')), said.slice(-2));

  const last = at((await served.rpc('SendMessage', answer(id, 'North.', 'm-3'))).body, 'result', 'task');
  assert.equal(at(last, 'status', 'state'), 'TASK_STATE_COMPLETED');
  const got = at((await served.rpc('GetTask', { id })).body, 'result');
  assert.deepEqual(textsOf(at(got, 'history')), [
    ...said,
    ['ROLE_AGENT', 'Which wall?'],
    ['ROLE_USER', 'North.'],
  ]);
  const none = at((await served.rpc('GetTask', { id, historyLength: 0 })).body, 'result');
  assert.deepEqual(textsOf(at(none, 'history')), []);

  const copy = await served.rpc('SendMessage', answer(id, 'North.', 'm-3'));
  assert.deepEqual(at(copy.body, 'result', 'task', 'id'), id, 'a copy is answered, ended or not');
  const late = await served.rpc('SendMessage', answer(id, 'South.', 'm-4'));
  assert.equal(at(late.body, 'error', 'code'), -32004);
});

const states = (events: readonly SseMessage[]): unknown[][] =>
  events.flatMap(({ data }) => {
    const result = at(data, 'result');
    const shown = at(result, 'task') ?? at(result, 'statusUpdate');
    return isJsonObject(shown) ? [statusOf(shown)] : [];
  });

test('SendStreamingMessage ends at a question and the answer opens the next stream; SubscribeToTask sees everything', async (t) => {
  const served = await asking(t);
  const first = await (await openStream(served, 'SendStreamingMessage', message('Paint.'))).rest();
  assert.deepEqual(states(first).at(-1), ['TASK_STATE_INPUT_REQUIRED', 'Which room?']);
  const id = String(at(first[0]?.data, 'result', 'task', 'id'));
  const watching = await openStream(served, 'SubscribeToTask', { id });
  assert.deepEqual(states([(await watching.next()) ?? assert.fail('no task')]), [
    ['TASK_STATE_INPUT_REQUIRED', 'Which room?'],
  ]);

  const second = await (
    await openStream(served, 'SendStreamingMessage', answer(id, 'The blue one.', 'm-2'))
  ).rest();
  assert.deepEqual(states(second).at(-1), ['TASK_STATE_INPUT_REQUIRED', 'Which wall?']);
  const copy = await openStream(served, 'SendStreamingMessage', answer(id, 'The blue one.', 'm-2'));
  assert.deepEqual(states(await copy.rest()), [['TASK_STATE_INPUT_REQUIRED', 'Which wall?']]);
  const third = await (await openStream(served, 'SendStreamingMessage', answer(id, 'North.', 'm-3'))).rest();
  assert.equal(states(third).at(-1)?.[0], 'TASK_STATE_COMPLETED');

  const seen = states(await watching.rest()).filter(([state]) => state === 'TASK_STATE_INPUT_REQUIRED');
  assert.deepEqual(seen, [['TASK_STATE_INPUT_REQUIRED', 'Which wall?']]);
  const asked = first.at(-1)?.id ?? assert.fail('the question has no id');
  const resumed = await openStream(served, 'SubscribeToTask', { id }, { 'last-event-id': asked });
  const [again, ...rest] = states(await resumed.rest());
  assert.deepEqual(again, ['TASK_STATE_INPUT_REQUIRED', 'Which room?'], 'as it stood after that event');
  assert.equal(rest.at(-1)?.[0], 'TASK_STATE_COMPLETED');
});

test('A2A 0.3: input-required with the question, ended streams, answers', async (t) => {
  const served = await asking(t);
  const legacy = (text: string, messageId: string, taskId?: string): JsonObject => ({
    message: {
      kind: 'message',
      role: 'user',
      messageId,
      parts: [{ kind: 'text', text }],
      ...(taskId === undefined ? {} : { taskId }),
    },
  });
  const first = at((await served.rpc('message/send', legacy('Paint.', 'm-1'))).body, 'result');
  assert.deepEqual(statusOf(first), ['input-required', 'Which room?']);
  const id = String(at(first, 'id'));
  const stream = await openStream(served, 'message/stream', legacy('The blue one.', 'm-2', id));
  const last = (await stream.rest()).at(-1)?.data;
  assert.deepEqual(statusOf(at(last, 'result')), ['input-required', 'Which wall?']);
  const done = at((await served.rpc('message/send', legacy('North.', 'm-3', id))).body, 'result');
  assert.equal(at(done, 'status', 'state'), 'completed');
  const got = at((await served.rpc('tasks/get', { id })).body, 'result', 'history');
  assert.deepEqual(textsOf(got), [
    ['user', 'Paint.'],
    ['agent', 'Which room?'],
    ['user', 'The blue one.'],
    ['agent', 'Which wall?'],
    ['user', 'North.'],
  ]);
});

test("the SDK's client receives and answers questions, by stream and by call", async (t) => {
  const served = await asking(t);
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${TOKEN}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const transports = [new JsonRpcTransportFactory({ fetchImpl })];
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports });
  const client = await new ClientFactory(options).createFromUrl(served.url);
  const request = (text: string, messageId: string, taskId = ''): SendMessageRequest => ({
    tenant: '',
    metadata: undefined,
    message: {
      messageId,
      contextId: '',
      taskId,
      role: Role.ROLE_USER,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
    },
  });
  let id = '';
  let last: TaskState | undefined;
  for await (const { payload } of client.sendMessageStream(request('Paint.', 'm-1'))) {
    if (payload?.$case === 'task') id = payload.value.id;
    if (payload?.$case === 'statusUpdate') last = payload.value.status?.state;
  }
  assert.equal(last, TaskState.TASK_STATE_INPUT_REQUIRED);
  const asked = await client.sendMessage(request('The blue one.', 'm-2', id));
  assert.ok('status' in asked);
  assert.deepEqual(asked.status?.message?.parts[0]?.content, { $case: 'text', value: 'Which wall?' });
  const done = await client.sendMessage(request('North.', 'm-3', id));
  assert.ok('status' in done);
  assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED);
  assert.deepEqual(done.artifacts[1]?.parts[0]?.content, { $case: 'text', value: 'The blue one., North.' });
});
