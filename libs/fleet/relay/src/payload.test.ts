import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dispatchOf, NOW, POLICY, peerOf } from '@hermes-fleet/peers/testing';
import { isJsonObject } from '@hermes-fleet/protocol';
import type { AdmittedTask } from '@hermes-fleet/protocol/ports';
import { payloadFor } from './payload.ts';

const TERMS = { mayQueue: false, conversation: 'c', isMoved: false };
const task: AdmittedTask = {
  id: 'a2a-1',
  contextId: 'ctx',
  caller: { name: 'operator', scopes: new Set() },
  dispatch: dispatchOf({ task: { rootCaller: 'mallory' } }),
  parts: [],
  deadlineAt: undefined,
  resumes: 0,
};
const budget = { remaining: () => Number.POSITIVE_INFINITY };

/** The root caller that a peer is told. */
function told(of: AdmittedTask): unknown {
  const { payload } = payloadFor(of, peerOf('neo'), POLICY, budget, NOW, TERMS);
  assert.ok(isJsonObject(payload.task));
  return payload.task.root_caller;
}

it('a peer is told the root caller that this profile believes, and none that it does not know', () => {
  assert.equal(told(task), 'operator');
  assert.equal(told({ ...task, rootCaller: 'tank' }), 'tank');
  assert.equal(told({ ...task, rootCaller: null }), undefined);
});
