import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { type Answer, SAVED_DISPATCH as delegation, scriptedPeer } from '../../testing/scripted-peer.ts';
import { delegateProse } from '../prose/delegate-prose.ts';
import { cancelDelegation } from './cancel-delegation.ts';
import { delegate } from './delegate.ts';
import type { DelegateOptions } from './delegate-options.ts';

type Script = readonly (readonly [method: string, answer: Answer])[];

async function scripted(t: TestContext, script: Script) {
  const { options, calls, taken } = await scriptedPeer(t, script);
  return {
    options,
    taken,
    methods: () => calls.map(({ method }) => method),
    bodies: () => calls.map(({ body }) => body),
  };
}

const task = (id: string, state: string): JsonObject => ({
  id,
  contextId: 'c',
  status: { state: `TASK_STATE_${state}`, message: { parts: [{ text: `${id} ${state}` }] } },
});
const sent = (id: string, state: string): Answer => ({ result: { task: task(id, state) } });
const seen = (id: string, state: string): Answer => ({ result: task(id, state) });
const noStream: Answer = { error: { code: -32601, message: 'no' } };
const notFound: Answer = { error: { code: -32001, message: 'who?' } };

describe('a delegation', () => {
  it('accepts a Message as the result', async (t) => {
    const { options } = await scripted(t, [
      ['SendMessage', { result: { message: { parts: [{ text: 'hi' }] } } }],
    ]);
    const delegated = await delegate(options, delegation);
    assert.ok(delegated.kind === 'result');
    assert.deepEqual([delegated.result.status, delegated.result.text], ['done', 'hi']);
  });

  for (const [what, send, payload] of [
    ['a peer', delegate, delegation.payload],
    ['a prose peer', delegateProse, { text: 'b' }],
  ] as const)
    it(`measures the latency of ${what} by a monotonic clock`, async (t) => {
      const { options } = await scripted(t, [
        ['SendMessage', sent('t1', 'COMPLETED')],
        ['GetTask', seen('t1', 'COMPLETED')],
      ]);
      let setBackMs = 0;
      // Every look at the wall clock finds it set back by a further hour.
      const now = (): number => {
        setBackMs += 3_600_000;
        return Date.now() - setBackMs;
      };
      await send(
        { ...options, clock: { ...options.clock, now }, peerDownAfterMs: 100 },
        { ...delegation, payload },
      );
      const { latencyMs } = options.health.snapshot();
      assert.ok(latencyMs > 0 && latencyMs < 60_000, `${latencyMs} ms`);
    });

  it('polls a peer without streams until the task has ended', async (t) => {
    const { options, methods, taken } = await scripted(t, [
      ['SendMessage', sent('t1', 'WORKING')],
      ['SubscribeToTask', noStream],
      ['GetTask', 'cut'],
      ['GetTask', seen('t1', 'WORKING')],
      ['SubscribeToTask', noStream],
      ['GetTask', seen('t1', 'COMPLETED')],
      ['GetTask', seen('t1', 'COMPLETED')],
    ]);
    const delegated = await delegate(options, delegation);
    assert.ok(delegated.kind === 'result' && delegated.result.text === 't1 COMPLETED');
    assert.deepEqual(taken, ['t1']);
    assert.equal(methods().length, 7);
  });

  it('sends the same bytes again to a peer that lost the task', async (t) => {
    const { options, bodies, taken, methods } = await scripted(t, [
      ['SendMessage', sent('t1', 'WORKING')],
      ['SubscribeToTask', noStream],
      ['GetTask', notFound],
      ['SendMessage', 'cut'],
      ['SendMessage', sent('t2', 'COMPLETED')],
      ['GetTask', seen('t2', 'COMPLETED')],
    ]);
    const delegated = await delegate(options, delegation);
    assert.ok(delegated.kind === 'result' && delegated.result.text === 't2 COMPLETED');
    assert.deepEqual(taken, ['t1', 't2']);
    const sends = bodies().filter((body) => body.includes('SendMessage'));
    assert.equal(new Set(sends).size, 1);
    assert.equal(methods().length, 6);
  });

  it('fails at a peer that forgets the task twice, since each copy would begin the work again', async (t) => {
    const { options, methods } = await scripted(t, [
      ['SendMessage', sent('t1', 'WORKING')],
      ['SubscribeToTask', noStream],
      ['GetTask', notFound],
      ['SendMessage', sent('t2', 'WORKING')],
      ['SubscribeToTask', noStream],
      ['GetTask', notFound],
    ]);
    const lost = delegate(options, delegation);
    await assert.rejects(lost, (error) => error instanceof FleetError && error.code === 'PEER_REFUSED');
    assert.equal(methods().filter((method) => method === 'SendMessage').length, 2);
  });

  it('resumes a task that an earlier process started', async (t) => {
    const { options, methods } = await scripted(t, [
      ['SubscribeToTask', noStream],
      ['GetTask', seen('t1', 'FAILED')],
      ['GetTask', seen('t1', 'FAILED')],
    ]);
    const delegated = await delegate({ ...options, resumed: true }, { ...delegation, remoteTaskId: 't1' });
    assert.ok(delegated.kind === 'result' && delegated.result.status === 'error');
    assert.ok(!methods().includes('SendMessage'));
  });

  const shuttingDown: Answer = {
    status: 503,
    error: {
      code: -32000,
      message: 'later',
      data: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'SHUTTING_DOWN', metadata: {} }],
    },
  };
  it('is refused by a peer that is shutting down', async (t) => {
    const { options } = await scripted(t, [['SendMessage', shuttingDown]]);
    assert.equal((await delegate(options, delegation)).kind, 'refused');
  });

  it('stays with a peer that refuses now but may have the task already', async (t) => {
    const { options } = await scripted(t, [
      ['SendMessage', shuttingDown],
      ['SendMessage', sent('t1', 'COMPLETED')],
      ['GetTask', seen('t1', 'COMPLETED')],
    ]);
    const delegated = await delegate({ ...options, resumed: true }, delegation);
    assert.equal(delegated.kind, 'result');
  });

  it('fails at a server that is not an agent, and is not tried elsewhere, since the work may have begun', async (t) => {
    const { options } = await scripted(t, [['SendMessage', { body: '<html>' }]]);
    await assert.rejects(
      delegate(options, delegation),
      (error) => error instanceof FleetError && error.code === 'PEER_REFUSED',
    );
  });

  it('fails without a resend when the answer is too large to read', async (t) => {
    const { options, methods } = await scripted(t, [
      ['SendMessage', sent('r-1', 'WORKING')],
      ['SubscribeToTask', noStream],
      ['GetTask', { body: 'x'.repeat(4_300_000) }],
    ]);
    await assert.rejects(delegate(options, delegation), /GetTask with more than 4 MiB/);
    assert.deepEqual(methods(), ['SendMessage', 'SubscribeToTask', 'GetTask']);
  });

  it('fails when the peer no longer knows the task and refuses the resend', async (t) => {
    const { options } = await scripted(t, [
      ['SubscribeToTask', noStream],
      ['GetTask', notFound],
      ['SendMessage', { error: { code: -32602, message: 'no' } }],
    ]);
    const again = delegate({ ...options, resumed: true }, { ...delegation, remoteTaskId: 't1' });
    await assert.rejects(again, (error) => error instanceof FleetError && error.code === 'PEER_REFUSED');
  });
});

describe('a cancellation', () => {
  it('learns the task ID by sending again, cancels, and returns the result', async (t) => {
    const { options, methods } = await scripted(t, [
      ['SendMessage', sent('t1', 'WORKING')],
      ['CancelTask', seen('t1', 'CANCELED')],
    ]);
    assert.equal((await cancelDelegation(options, delegation))?.error?.code, 'canceled');
    assert.deepEqual(methods(), ['SendMessage', 'CancelTask']);
  });

  it('returns the result of a task that ended first', async (t) => {
    const { options } = await scripted(t, [
      ['CancelTask', { error: { code: -32002, message: 'over' } }],
      ['GetTask', seen('t1', 'COMPLETED')],
    ]);
    assert.equal((await cancelDelegation(options, { ...delegation, remoteTaskId: 't1' }))?.status, 'done');
  });

  it('returns the result of a Message', async (t) => {
    const { options } = await scripted(t, [
      ['SendMessage', { result: { message: { parts: [{ text: 'hi' }] } } }],
    ]);
    assert.equal((await cancelDelegation(options, delegation))?.text, 'hi');
  });

  it('returns nothing for a task that continues or a peer that is unreachable', async (t) => {
    const running = await scripted(t, [['CancelTask', seen('t1', 'WORKING')]]);
    assert.equal(await cancelDelegation(running.options, { ...delegation, remoteTaskId: 't1' }), undefined);
    const away = await scripted(t, []);
    assert.equal(await cancelDelegation(away.options, delegation), undefined);
  });
});

describe("a peer's question", () => {
  const gone: Answer = { error: { code: -32004, message: 'over' } };
  const asked = (id: string): Answer => ({ result: { task: task(id, 'INPUT_REQUIRED') } });

  function answering() {
    const questions: string[] = [];
    const delivered: string[] = [];
    const exchange: DelegateOptions['questions'] = {
      ask: async ({ statusText }) => {
        questions.push(statusText);
        return { messageId: `m-1:answer-${questions.length}`, text: 'blue' };
      },
      pendingQuestion: () => undefined,
      undeliveredAnswer: async () => undefined,
      markDelivered: async () => void delivered.push(`${questions.length}`),
    };
    return { exchange, questions, delivered };
  }

  it('is answered with the same message until that has arrived, and not asked again', async (t) => {
    const { options, bodies, methods } = await scripted(t, [
      ['SendMessage', asked('t1')],
      ['SendMessage', 'cut'],
      ['SendMessage', sent('t1', 'WORKING')],
      ['SubscribeToTask', noStream],
      ['GetTask', seen('t1', 'COMPLETED')],
      ['GetTask', seen('t1', 'COMPLETED')],
    ]);
    const { exchange, questions, delivered } = answering();
    const delegated = await delegate({ ...options, questions: exchange }, delegation);
    assert.ok(delegated.kind === 'result' && delegated.result.text === 't1 COMPLETED');
    assert.deepEqual([questions, delivered], [['t1 INPUT_REQUIRED'], ['1']]);
    const answers = bodies().filter((body) => body.includes('"taskId":"t1"'));
    assert.deepEqual([answers.length, new Set(answers).size], [2, 1]);
    assert.equal(methods().length, 6);
  });

  it('is followed by a query when its task has ended or is unknown', async (t) => {
    const ended = await scripted(t, [
      ['SendMessage', asked('t1')],
      ['SendMessage', gone],
      ['SubscribeToTask', noStream],
      ['GetTask', seen('t1', 'COMPLETED')],
      ['GetTask', seen('t1', 'COMPLETED')],
    ]);
    const first = await delegate({ ...ended.options, questions: answering().exchange }, delegation);
    assert.ok(first.kind === 'result' && first.result.text === 't1 COMPLETED');
    const lost = await scripted(t, [
      ['SendMessage', asked('t1')],
      ['SendMessage', notFound],
      ['SubscribeToTask', notFound],
      ['GetTask', notFound],
      ['SendMessage', sent('t2', 'COMPLETED')],
      ['GetTask', seen('t2', 'COMPLETED')],
    ]);
    const second = await delegate({ ...lost.options, questions: answering().exchange }, delegation);
    assert.ok(second.kind === 'result' && second.result.text === 't2 COMPLETED');
  });

  it('fails and cancels the task when the peer refuses the answer for another reason', async (t) => {
    const { options, methods } = await scripted(t, [
      ['SendMessage', asked('t1')],
      ['SendMessage', { error: { code: -32602, message: 'too long' } }],
      ['CancelTask', seen('t1', 'CANCELED')],
    ]);
    await assert.rejects(
      delegate({ ...options, questions: answering().exchange }, delegation),
      (error: unknown) => error instanceof FleetError && error.code === 'PEER_REFUSED',
    );
    assert.deepEqual(methods(), ['SendMessage', 'SendMessage', 'CancelTask']);
  });

  it('cancels the task and makes the result partial when nobody can answer', async (t) => {
    const { options, methods } = await scripted(t, [
      ['SendMessage', asked('t1')],
      ['CancelTask', seen('t1', 'CANCELED')],
    ]);
    const delegated = await delegate(options, delegation);
    assert.ok(delegated.kind === 'result' && delegated.result.status === 'partial');
    assert.match(delegated.result.remaining?.join() ?? '', /answer what helper asked.*t1 INPUT_REQUIRED/);
    assert.deepEqual(methods(), ['SendMessage', 'CancelTask']);
  });
});
