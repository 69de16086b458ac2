import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerTask } from '@hermes-fleet/a2a/client';
import { exitCodeOf, renderTask } from './result.ts';

/** A task of an agent in this state, with a TASK_RESULT of this status where there is one. */
const taskIn = (state: string, terminal: boolean, status?: string): PeerTask => ({
  id: 't',
  contextId: 'c',
  state,
  terminal,
  text: '',
  statusText: '',
  artifacts: [],
  metadata: {},
  data: status === undefined ? [] : [{ type: 'TASK_RESULT', status }],
});

test('the exit code tells what became of a task, also at an agent without the handshake', () => {
  for (const [state, terminal, status, code] of [
    ['completed', true, 'done', 0],
    ['failed', true, 'error', 1],
    ['rejected', true, 'blocked', 3],
    ['completed', true, 'partial', 4],
    ['canceled', true, 'done', 1],
    ['completed', true, 'of a newer version', 1],
    ['completed', true, undefined, 0],
    ['failed', true, undefined, 1],
    ['input_required', false, undefined, 3],
    ['auth_required', false, undefined, 3],
  ] as const)
    assert.equal(exitCodeOf(taskIn(state, terminal, status)), code, `${state} ${status}`);
});

test('a result says that its context began anew at another worker', () => {
  const task = taskIn('completed', true, 'done');
  const result = {
    ...{ type: 'TASK_RESULT', protocol_version: '2.0', task_id: 'x', status: 'done', tokens_spent: 7 },
    ...{ next_steps: [], blocked_reason: null, artifacts: { files_changed: [] }, executed_by: 'neo' },
  };
  const fresh = (more: Record<string, boolean>) =>
    renderTask({ ...task, data: [{ ...result, ...more }] }).filter((row) => row.startsWith('  fresh '));
  assert.deepEqual(fresh({}), []);
  assert.deepEqual(fresh({ context_fresh: true }), [
    '  fresh      the context began anew at neo: its earlier files are not there',
  ]);
});
