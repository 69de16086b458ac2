import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { idleCall } from '../../testing/idle-call.ts';
import { DONE } from '../../testing/scripts.ts';
import { createSubtaskDelegation } from './delegate-subtask.ts';

/** Delegates with this memo, and returns the contexts of the subtask and of its events, and what is saved. */
async function delegated(memo: JsonObject | undefined) {
  const reported: JsonObject[] = [];
  const saved: JsonObject[] = [];
  let contextId = '';
  const delegate = createSubtaskDelegation({
    profile: 'switch',
    subtasks: () => ({
      contextOf: () => 'sub-new',
      unmet: async () => [],
      route: () => assert.fail('not to be called'),
      discard: () => assert.fail('not to be called'),
      async run(subtask, { reportEvent, checkpoint }) {
        contextId = subtask.contextId;
        await checkpoint.save({ ...checkpoint.load(), step: 1 });
        await reportEvent({ type: 'delegated', data: { peer: 'neo' } });
        return DONE;
      },
    }),
    orchestrates: true,
    maxAtATime: 1,
    log: silentLog,
  });
  await delegate(
    { agent: 'neo', brief: 'a part' },
    {
      ...idleCall(),
      park: (wait) => wait(),
      reportEvent: async (event) => void (event.type !== 'text' && reported.push(event.data)),
      memo: { load: () => memo, save: async (state) => void saved.push(state) },
    },
  );
  const [event] = reported;
  return { contextId, named: event?.part_context_id, saved: saved[0]?.context_id };
}

test('a subtask is in the context of its caller and context, also when it is resumed', async () => {
  assert.deepEqual(await delegated(undefined), { contextId: 'sub-new', named: 'sub-new', saved: 'sub-new' });
  const memo = { part: 1, context_id: 'sub-saved', before: 0, relay: {} };
  assert.deepEqual(await delegated(memo), { contextId: 'sub-saved', named: 'sub-saved', saved: 'sub-saved' });
});
