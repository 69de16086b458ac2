import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeRelayState, encodeRelayState, INITIAL_STATE, type RelayState } from './relay-state.ts';

const considered = [{ peer: 'neo', verdict: 'chosen' as const, score: 99, reasons: ['load 0.00'] }];

describe('a relayed task’s checkpoint', () => {
  it('reads back as it was written', () => {
    const state: RelayState = {
      attempts: [
        {
          peer: 'neo',
          status: 'blocked',
          reason: null,
          tokensSpent: 0,
          startedAt: 'a',
          endedAt: 'b',
          considered,
        },
      ],
      refusals: [
        {
          peer: 'neo',
          reason: 'r',
          at: 5,
          times: 2,
          until: 6,
          silentUntil: 7,
          transient: true,
          unmet: [{ kind: 'repo', name: 'main', detail: 'd', transient: true }],
        },
      ],
      refused: 1,
      turnedAway: 2,
      waiting: { since: 4, alerted: true, queued: true, changedAt: 5, unplaceableMs: 6 },
      current: {
        peer: 'x',
        messageId: 'm',
        contextId: 'c',
        payload: { b: 1, a: [2] },
        startedAt: 's',
        remoteTaskId: 'r',
        prose: true,
        slice: 12,
        considered,
      },
      givenUp: { at: 7 },
    };
    assert.deepEqual(decodeRelayState(JSON.parse(JSON.stringify(encodeRelayState(state)))), state);
    assert.equal(
      JSON.stringify(
        encodeRelayState(state).current && decodeRelayState(encodeRelayState(state)).current?.payload,
      ),
      '{"b":1,"a":[2]}',
    );
    assert.deepEqual(decodeRelayState(undefined), INITIAL_STATE);
    assert.throws(() => decodeRelayState({ someone: 'else' }));
  });

  it('reads a checkpoint of 0.1.0: refusals that do not pass count, and the wait began as one without a free slot', () => {
    const refusal = { peer: 'neo', reason: 'r', unmet: [], transient: false };
    const old = { relay: 1, attempts: [], refusals: [refusal], waiting: { since: 4, alerted: false } };
    const { refused, waiting } = decodeRelayState(old);
    assert.equal(refused, 1);
    assert.deepEqual(waiting, { since: 4, alerted: false, queued: false, unplaceableMs: 0 });
  });

  it('reads a checkpoint of an earlier version, which had no waiting', () => {
    const refusal = { peer: 'neo', reason: 'r', unmet: [] };
    const state = decodeRelayState({ relay: 1, attempts: [], refusals: [refusal] });
    const { refusals, refused, turnedAway, waiting } = state;
    assert.deepEqual([refused, turnedAway, waiting], [0, 0, undefined]);
    assert.deepEqual(refusals, [{ ...refusal, at: 0, times: 1, until: 0, transient: true }]);
  });
});
