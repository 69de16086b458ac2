import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { checkpointWriter, newConversation, type RunState, readCheckpoint } from './run-state.ts';

const writeCheckpoint = (state: RunState): JsonObject => checkpointWriter()(state);

test('a written checkpoint is read back unchanged', () => {
  const state: RunState = {
    ...newConversation('hi'),
    version: 1,
    base: 'abc',
    nudges: 2,
    finished: 'stop',
    wrapped_up: true,
    tools_off: true,
    repaired: true,
    review: { state: 'open', talk: { ...newConversation('look'), paused: true } },
  };
  assert.deepEqual(readCheckpoint(writeCheckpoint(state)), state);
  const closed: RunState = { ...state, review: { state: 'closed', verdict: 'ok', detail: '' } };
  assert.deepEqual(readCheckpoint(writeCheckpoint(closed)), closed);
  const session = { id: 's', begun: [{ id: 'c', name: 'shell_exec' }] };
  assert.deepEqual(readCheckpoint({ ...writeCheckpoint(state), session }).session, session);
  assert.deepEqual(readCheckpoint({ ...writeCheckpoint(state), claude: session }).session, session);
});

test('a checkpoint of another version or an invalid one is refused', () => {
  const checkpoints: JsonObject[] = [
    {},
    { version: 2 },
    { version: 1, base: 'abc', step: -1, messages: [], journal: [] },
    { version: 1, base: 'abc', step: 1, messages: [{ role: 'nobody' }], journal: [] },
  ];
  for (const broken of checkpoints) {
    assert.throws(() => readCheckpoint(broken), { code: 'INTERNAL' });
  }
});
