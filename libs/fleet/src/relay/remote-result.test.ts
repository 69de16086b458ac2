import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeResult, FleetError, type JsonObject, type ReplySchema } from '@hermes-fleet/protocol';
import { neverArrived } from './delegate.ts';
import { hasResult, outcomeOf, resultOf, resultOfMessage } from './remote-result.ts';
import { decodeState, encodeState, FRESH_STATE } from './state.ts';

const wire = encodeResult({
  type: 'TASK_RESULT',
  protocolVersion: '2.0',
  taskId: 'remote',
  status: 'done',
  tokensSpent: 3,
  nextSteps: ['review'],
  blockedReason: null,
  artifacts: { filesChanged: ['a.ts'] },
  durationMs: 5,
});
const task = (state: string, data: JsonObject[] = [], text = 'words') => ({ state, data, text });

describe('the result in a peer’s answer', () => {
  it('is its TASK_RESULT; what we do not know of it travels on, ids and figures stay behind', () => {
    const result = resultOf(
      task('completed', [{ type: 'SESSION_ANNOUNCE' }, { ...wire, mood: 'good' }]),
      'json',
      'remote',
    );
    assert.equal(result.tokensSpent, 3);
    const outcome: object = outcomeOf(result, 'neo');
    assert.deepEqual(outcome, {
      status: 'done',
      nextSteps: ['review'],
      blockedReason: null,
      artifacts: { filesChanged: ['a.ts'] },
      mood: 'good',
      executedBy: 'neo',
    });
  });

  const prose: [string, ReplySchema, string, object][] = [
    ['completed', 'prose', 'done', { text: 'words' }],
    ['completed', 'structured', 'partial', { remaining: ['a structured reply: the peer answered in prose'] }],
    ['rejected', 'prose', 'blocked', { blockedReason: 'the peer rejected the task without a reason' }],
    ['failed', 'prose', 'error', {}],
    ['canceled', 'prose', 'error', {}],
  ];
  for (const [state, asked, status, fields] of prose)
    it(`of a peer that speaks prose: ${state}, asked for ${asked}, is ${status}`, () => {
      const result = resultOf(task(state), asked, 't');
      assert.equal(result.status, status);
      assert.equal(result.taskId, 't');
      for (const [key, value] of Object.entries(fields))
        assert.deepEqual(Object.entries(result).find(([k]) => k === key)?.[1], value);
    });

  it('may come as a message', () => {
    assert.equal(resultOfMessage({ kind: 'message', text: 'hi', data: [] }, 'prose', 't').text, 'hi');
    assert.equal(
      resultOfMessage({ kind: 'message', text: 'hi', data: [wire] }, 'prose', 'remote').tokensSpent,
      3,
    );
  });

  it('that breaks the contract is an error of the peer, naming the fields', () => {
    assert.ok(hasResult(task('completed', [wire])) && !hasResult(task('completed')));
    assert.throws(
      () => resultOf(task('completed', [{ ...wire, tokens_spent: -1 }]), 'prose', 't'),
      (error) =>
        error instanceof FleetError && error.code === 'PEER_REFUSED' && /tokens_spent/.test(error.message),
    );
    assert.throws(
      () => resultOf(task('completed', [wire]), 'prose', 'another'),
      (error) =>
        error instanceof FleetError && error.code === 'PEER_REFUSED' && /task_id/.test(error.message),
    );
  });
});

describe('a relayed task’s checkpoint', () => {
  it('reads back as it was written', () => {
    const state = {
      attempts: [
        { peer: 'neo', status: 'blocked', reason: null, tokensSpent: 0, startedAt: 'a', endedAt: 'b' },
      ],
      refusals: [
        {
          peer: 'neo',
          reason: 'r',
          unmet: [{ kind: 'repo' as const, name: 'main', detail: 'd', transient: true }],
        },
      ],
      current: {
        peer: 'x',
        messageId: 'm',
        contextId: 'c',
        payload: { b: 1, a: [2] },
        startedAt: 's',
        remoteTaskId: 'r',
      },
    };
    assert.deepEqual(decodeState(JSON.parse(JSON.stringify(encodeState(state)))), state);
    assert.equal(JSON.stringify(encodeState(state).current), JSON.stringify(state.current));
    assert.deepEqual(decodeState(undefined), FRESH_STATE);
    assert.throws(() => decodeState({ someone: 'else' }));
  });
});

describe('trouble with a peer', () => {
  it('knows what cannot have arrived', () => {
    const refused = Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
    assert.ok(
      neverArrived(
        new FleetError('PEER_UNREACHABLE', 'x', { cause: new TypeError('y', { cause: refused }) }),
      ),
    );
    assert.ok(!neverArrived(Object.assign(new Error('x'), { code: 'ECONNRESET' })));
    assert.ok(!neverArrived(new FleetError('PEER_UNREACHABLE', 'timed out')));
  });
});
