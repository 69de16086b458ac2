import assert from 'node:assert/strict';
import { dispatchOf } from '@hermes-fleet/peers/testing';
import type { ToolCall } from '@hermes-fleet/protocol/ports';
import { CALLER } from './scripts.ts';

/** A tool call of a run that nothing is to be asked of. */
export function idleCall(caller = CALLER): ToolCall {
  const never = new AbortController().signal;
  const unused = () => assert.fail('not to be called');
  return {
    task: {
      id: 'a',
      contextId: 'c',
      caller,
      dispatch: dispatchOf(),
      deadlineAt: undefined,
      parts: [],
      resumes: 0,
    },
    key: '1.0',
    signal: never,
    stopping: never,
    reportEvent: unused,
    park: unused,
    ask: unused,
    budget: {
      limit: undefined,
      spent: () => 0,
      remaining: () => Number.POSITIVE_INFINITY,
      reserve: unused,
      addDelegated: unused,
      delegatedTo: unused,
      usage: () => ({ inputTokens: 0, outputTokens: 0, model: 'm', source: 'metered' }),
    },
    memo: { load: () => undefined, save: unused },
  };
}
