import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Task, TaskState } from '@a2a-js/sdk';
import type { TaskEvent, TaskRecord } from '@hermes-fleet/ledger';
import type { JsonObject } from '@hermes-fleet/protocol';
import { taskView } from './task-view.ts';

const record = (more: Partial<TaskRecord>): TaskRecord => ({
  id: 't-1',
  contextId: 'c-1',
  caller: 'switch',
  key: 'k-1',
  state: 'working',
  message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] },
  dispatch: {},
  result: undefined,
  resumes: 0,
  createdAt: 0,
  updatedAt: 1000,
  lastSeq: 3,
  ...more,
});

const STATES: readonly [state: TaskRecord['state'], shown: TaskState][] = [
  ['submitted', TaskState.TASK_STATE_SUBMITTED],
  ['queued', TaskState.TASK_STATE_SUBMITTED],
  ['working', TaskState.TASK_STATE_WORKING],
  ['input_required', TaskState.TASK_STATE_INPUT_REQUIRED],
  ['completed', TaskState.TASK_STATE_COMPLETED],
  ['rejected', TaskState.TASK_STATE_REJECTED],
  ['failed', TaskState.TASK_STATE_FAILED],
  ['canceled', TaskState.TASK_STATE_CANCELED],
];

test('the state comes from the ledger and not from the result, because ListTasks filters by it', () => {
  const error: JsonObject = { code: 'canceled', message: 'canceled at the peer', retryable: false };
  const result: JsonObject = { type: 'TASK_RESULT', status: 'error', error };
  for (const [state, shown] of STATES) {
    assert.equal(taskView(record({ state })).status?.state, shown, state);
    assert.equal(taskView(record({ state, result })).status?.state, shown, `${state} with a result`);
  }
});

test('until there is a result, text events form the text artifact', () => {
  const event = (seq: number, type: string, data: JsonObject): TaskEvent => ({
    seq,
    taskId: 't-1',
    type,
    at: 0,
    data,
  });
  const events = [
    event(1, 'text', { text: 'one ' }),
    event(2, 'progress', { text: 'no' }),
    event(3, 'text', { text: 'two' }),
  ];
  const [artifact] = taskView(record({}), events).artifacts;
  assert.deepEqual(artifact?.parts[0]?.content, { $case: 'text', value: 'one two' });
  const result: JsonObject = { status: 'done', text: 'final' };
  assert.deepEqual(
    taskView(record({ result }), events).artifacts.map(({ name }) => name),
    ['task-result', 'text'],
  );
  assert.equal(taskView(record({})).artifacts.length, 0);
});

test('fields that A2A does not define appear in the metadata only', () => {
  const task = Task.toJSON(taskView(record({}), [], { metadata: { 'urn:x': 1 }, historyLength: 0 }));
  assert.deepEqual(task, {
    id: 't-1',
    contextId: 'c-1',
    status: { state: 'TASK_STATE_WORKING', timestamp: '1970-01-01T00:00:01.000Z' },
    metadata: { 'urn:x': 1 },
  });
});

const STATUS_MESSAGES: readonly [
  state: TaskRecord['state'],
  result: JsonObject | undefined,
  says: string | undefined,
][] = [
  ['completed', { status: 'done' }, undefined],
  [
    'completed',
    { status: 'partial', remaining: ['the tests', 'the docs'] },
    'partial; remaining: the tests; the docs',
  ],
  ['completed', { status: 'partial', remaining: [] }, 'partial; remaining: not said'],
  ['completed', { status: 'partial' }, 'partial; remaining: not said'],
  ['rejected', { status: 'blocked', blocked_reason: 'the queue is full' }, 'the queue is full'],
  ['rejected', { status: 'blocked', blocked_reason: null }, 'blocked'],
  ['failed', { status: 'error', error: { message: 'the model is away' } }, 'the model is away'],
  ['failed', { status: 'error' }, 'failed'],
  ['canceled', { status: 'error', error: { code: 'canceled', message: 'by its caller' } }, 'by its caller'],
  ['canceled', undefined, 'canceled'],
  ['working', undefined, undefined],
];

for (const [state, result, says] of STATUS_MESSAGES)
  test(`the status of ${state} with ${JSON.stringify(result)} has the message ${says ?? '(none)'}`, () => {
    const { status } = taskView(record({ state, result }));
    const content = status?.message?.parts[0]?.content;
    assert.deepEqual(content, says === undefined ? undefined : { $case: 'text', value: says });
  });

test("the text artifact is the agent's text, or else a summary of the result", () => {
  const textOf = (result: JsonObject) =>
    taskView(record({ state: 'completed', result })).artifacts.find(({ name }) => name === 'text')?.parts[0]
      ?.content?.value;
  assert.equal(textOf({ status: 'done', tokens_spent: 7, text: 'All is well.' }), 'All is well.');
  assert.equal(
    textOf({
      status: 'partial',
      tokens_spent: 7,
      text: ' ',
      artifacts: { files_changed: ['a.ts', 'b.ts'] },
      remaining: ['tests'],
      next_steps: ['review'],
    }),
    'partial\nfiles changed: a.ts, b.ts\nremaining: tests\nnext: review\ntokens spent: 7',
  );
  assert.equal(
    textOf({ status: 'blocked', tokens_spent: 0, blocked_reason: 'nobody is there' }),
    'blocked: nobody is there\ntokens spent: 0',
  );
});
