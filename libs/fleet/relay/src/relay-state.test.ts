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
          peerTaskId: 'r',
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
});
