import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskResult } from '@hermes-fleet/protocol/handshake';
import { type Answer, scriptedPeer } from '../../testing/scripted-peer.ts';
import type { Delegation } from '../delegation/delegation.ts';
import { createQuestionExchange } from '../delegation/question-exchange.ts';
import { delegateProse } from './delegate-prose.ts';

const DELEGATION: Delegation = {
  peer: 'helper',
  messageId: 'm-1',
  contextId: 'c-1',
  prose: true,
  payload: { text: 'TASK DISPATCH (inline)\nBrief: do it' },
  startedAt: '2026-05-31T20:00:00Z',
};
const FIRST = 'm-1:answer-1';

function task(state: string, statusId: string, ...history: string[]): JsonObject {
  const message = { messageId: statusId, parts: [{ text: `${statusId}?` }] };
  return {
    id: 'r-1',
    contextId: 'c-1',
    history: history.map((messageId) => ({ messageId, parts: [] })),
    status: { state: `TASK_STATE_${state}`, message },
  };
}
const asks = (statusId: string): Answer => ({ result: { task: task('INPUT_REQUIRED', statusId) } });
const sent = (state: string): Answer => ({ result: { task: task(state, 'working') } });
const said = (text: string): Answer => ({ result: { message: { messageId: 'a', parts: [{ text }] } } });
const shows = (...history: string[]): Answer => ({
  result: { tasks: [task('INPUT_REQUIRED', 'room', ...history)], nextPageToken: '' },
});
const stream = (...tasks: JsonObject[]): Answer => ({ events: tasks.map((each) => ({ task: each })) });
const error = (code: number): Answer => ({ error: { code, message: 'no' } });
const DONE = task('COMPLETED', 'done', 'm-1', FIRST);

type Script = readonly (readonly [string, Answer])[];

/** Plays a script with a caller that answers at most `patience` questions. */
async function play(t: TestContext, script: Script, before: Partial<Delegation> = {}, patience = 9) {
  const peer = await scriptedPeer(t, script);
  let delegation = { ...DELEGATION, ...before };
  const saved: Delegation['answers'][] = [];
  const asked: [key: string, question: string][] = [];
  const questions = createQuestionExchange({
    delegation: () => delegation,
    save: async (change) => {
      delegation = { ...delegation, ...change };
      if (change.answers) saved.push(change.answers);
    },
    ask: async (question, key) => {
      asked.push([key, question]);
      return `answer ${asked.length}`;
    },
  });
  const bounded = {
    ...questions,
    ask: async (...args: Parameters<typeof questions.ask>) =>
      asked.length < patience ? questions.ask(...args) : undefined,
  };
  const o = { ...peer.options, questions: bounded, resumed: before.remoteTaskId !== undefined };
  const delegated = await delegateProse(o, delegation);
  const result: Partial<TaskResult> = delegated.kind === 'result' ? delegated.result : {};
  const answers = peer.calls.filter(({ params }) => JSON.stringify(params).includes('"taskId":"r-1"'));
  const methods = peer.calls.map(({ method }) => method);
  return { ...peer, result, asked, answers: answers.length, saved, methods };
}

describe('a question of a prose peer', () => {
  it('is resumed after a restart as it was saved, even when the agent cannot be queried', async (t) => {
    const before = { remoteTaskId: 'r-1', asked: { text: 'room?', statusId: 'room' } };
    const { result, asked, methods } = await play(t, [['SendMessage', said('It is done.')]], before);
    assert.deepEqual([result.status, result.text], ['done', 'It is done.']);
    assert.deepEqual(asked, [['m-1:question-1', 'room?']]);
    assert.deepEqual(methods, ['SendMessage']);
  });

  it('is asked of the caller, and its answer is a message in the same task', async (t) => {
    const { calls, result, asked, saved } = await play(t, [
      ['SendMessage', asks('room')],
      ['SendMessage', sent('WORKING')],
      ['SubscribeToTask', stream(task('INPUT_REQUIRED', 'wall'))],
      ['SendMessage', said('It is done.')],
    ]);
    assert.deepEqual([result.status, result.text], ['done', 'It is done.']);
    assert.deepEqual(asked, [
      ['m-1:question-1', 'room?'],
      ['m-1:question-2', 'wall?'],
    ]);
    assert.deepEqual(calls[1]?.params, {
      message: {
        messageId: FIRST,
        contextId: 'c-1',
        taskId: 'r-1',
        role: 'ROLE_USER',
        parts: [{ text: 'answer 1', mediaType: 'text/plain' }],
      },
      configuration: { returnImmediately: true },
    });
    assert.deepEqual(saved, [
      { count: 1, delivered: false, statusId: 'room' },
      { count: 1, delivered: true, statusId: 'room' },
      { count: 2, delivered: false, statusId: 'wall' },
      { count: 2, delivered: true, statusId: 'wall' },
    ]);
  });

  it('is not taken for a new one while the agent still shows it', async (t) => {
    const { result, asked } = await play(t, [
      ['SendMessage', asks('room')],
      ['SendMessage', asks('room')],
      ['SubscribeToTask', stream(task('INPUT_REQUIRED', 'room'), task('WORKING', 'w'), DONE)],
    ]);
    assert.deepEqual([result.status, asked.length], ['done', 1]);
  });

  it('makes the task partial and cancels it when nobody answers', async (t) => {
    const script: Script = [
      ['SendMessage', asks('room')],
      ['SendMessage', sent('WORKING')],
      ['SubscribeToTask', stream(task('INPUT_REQUIRED', 'wall'))],
      ['CancelTask', { result: task('CANCELED', 'x') }],
    ];
    const { result, methods } = await play(t, script, {}, 1);
    assert.equal(result.status, 'partial');
    assert.match(result.remaining?.join() ?? '', /answer what helper asked.*: wall\?/);
    assert.equal(methods.at(-1), 'CancelTask');
  });

  it('makes the task partial, without asking again, when the agent does not accept the answer', async (t) => {
    const { result, asked } = await play(t, [
      ['SendMessage', asks('room')],
      ['SendMessage', error(-32004)],
      ['SubscribeToTask', stream(task('INPUT_REQUIRED', 'room'))],
      ['CancelTask', { result: task('CANCELED', 'x') }],
    ]);
    assert.deepEqual([result.status, asked.length], ['partial', 1]);
    assert.match(
      result.remaining?.join() ?? '',
      /it did not take the answer: .*refused SendMessage.*: room\?/,
    );
  });

  it('is replaced by the result of a task that has ended in the meantime', async (t) => {
    const { result } = await play(t, [
      ['SendMessage', asks('room')],
      ['SendMessage', error(-32004)],
      ['SubscribeToTask', error(-32004)],
      ['GetTask', { result: task('COMPLETED', 'done') }],
    ]);
    assert.deepEqual([result.status, result.text], ['done', 'done?']);
  });
});

describe('an answer that may have reached a prose peer', () => {
  const LOST: readonly [string, Answer][] = [
    ['was cut off', 'cut'],
    ['was an internal error', error(-32603)],
    ['was no A2A', { body: '<html>' }],
  ];
  for (const [what, lost] of LOST) {
    it(`is not sent again when the reply ${what} and the history shows it`, async (t) => {
      const { result, answers } = await play(t, [
        ['SendMessage', asks('room')],
        ['SendMessage', lost],
        ['ListTasks', shows('m-1')],
        ['ListTasks', shows('m-1', FIRST)],
        ['SubscribeToTask', stream(DONE)],
      ]);
      assert.deepEqual([result.status, answers], ['done', 1]);
    });

    it(`is sent again when the reply ${what} and the history shows that it is missing`, async (t) => {
      const { result, answers } = await play(t, [
        ['SendMessage', asks('room')],
        ['SendMessage', lost],
        ...[1, 2, 3].map(() => ['ListTasks', shows('m-1')] as const),
        ['SendMessage', said('It is done.')],
      ]);
      assert.deepEqual([result.status, answers], ['done', 2]);
    });

    it(`is not sent again when the reply ${what} and the agent cannot tell`, async (t) => {
      for (const unclear of [shows(), error(-32601)] as const) {
        const { result, answers } = await play(t, [
          ['SendMessage', asks('room')],
          ['SendMessage', lost],
          ['ListTasks', unclear],
        ]);
        assert.deepEqual([result.error?.code, answers], ['outcome_unknown', 1]);
      }
    });
  }

  it('is looked for after a restart, and sent only when it is missing', async (t) => {
    const before = { remoteTaskId: 'r-1', answers: { count: 1, delivered: false, statusId: 'room' } };
    const there = await play(
      t,
      [
        ['ListTasks', shows('m-1', FIRST)],
        ['SubscribeToTask', stream(task('INPUT_REQUIRED', 'room'), DONE)],
      ],
      before,
    );
    assert.deepEqual([there.result.status, there.answers], ['done', 0]);
    assert.deepEqual(there.asked, [['m-1:question-1', '']], 'by its key: nobody is asked again');
    const missing = await play(
      t,
      [...[1, 2, 3].map(() => ['ListTasks', shows('m-1')] as const), ['SendMessage', said('It is done.')]],
      before,
    );
    assert.deepEqual([missing.result.status, missing.answers], ['done', 1]);
  });

  it('is sent again after a retryable refusal, once it is certainly missing', async (t) => {
    const { result, answers } = await play(t, [
      ['SendMessage', asks('room')],
      ['SendMessage', { error: { code: -32000, message: 'stopping' }, status: 503 }],
      ...[1, 2, 3].map(() => ['ListTasks', shows('m-1')] as const),
      ['SendMessage', said('It is done.')],
    ]);
    assert.deepEqual([result.status, answers], ['done', 2]);
  });
});
