import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import { dispatching } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { relayFleet } from '../testing/relay-fleet.ts';
import { CALLER, DONE, type Script } from '../testing/scripts.ts';
import type { TestProfile } from '../testing/test-profile.ts';

const OTHER = { ...CALLER, name: 'other' };

/** An agent that keeps the briefs of its conversation, and what it had of them before each task. */
function remembering(): { readonly script: Script; readonly found: (readonly JsonValue[] | undefined)[] } {
  const found: (readonly JsonValue[] | undefined)[] = [];
  return {
    found,
    async script({ dispatch }, { earlier, checkpoint }) {
      const before = earlier?.()?.messages;
      found.push(before);
      const messages = [...(before ?? []), dispatch.brief];
      await checkpoint.save({ keep_conversation: true, messages }, 'messages');
      return DONE;
    },
  };
}

/** Sends tasks of one context, one after the other. */
async function work(
  at: TestProfile,
  tasks: readonly { brief: string; caller?: typeof CALLER; task?: JsonObject; routing?: JsonObject }[],
): Promise<void> {
  for (const { brief, caller = CALLER, task = {}, routing } of tasks) {
    const message = { ...dispatching(task, { brief, ...(routing && { routing }) }), contextId: 'c' };
    assert.equal((await at.result(await at.send(message, caller))).status, 'done');
  }
}

describe('the conversation of a context', () => {
  it('is continued by the same caller, unless the task asks for a fresh one', deadline, async (t) => {
    const { script, found } = remembering();
    const neo = await profile(t, { script });
    await work(neo, [{ brief: 'a' }, { brief: 'x', caller: OTHER }, { brief: 'b' }]);
    await neo.crash();
    await neo.restart();
    const fresh = { fresh: true };
    await work(neo, [{ brief: 'c' }, { brief: 'd', task: fresh }, { brief: 'e', task: { fresh: false } }]);
    assert.deepEqual(found, [undefined, undefined, ['a'], ['a', 'b'], undefined, ['d']]);
  });

  it('is not continued for an orchestrator that does not say whose it is', deadline, async (t) => {
    const { script, found } = remembering();
    const neo = await profile(t, { script });
    const old = { task: { path: ['switch'] } };
    await work(neo, [{ brief: 'a', ...old }, { brief: 'b', ...old }, { brief: 'c' }]);
    assert.deepEqual(found, [undefined, undefined, undefined]);
  });

  it(
    'stays apart for the callers of an orchestrator, and begins anew at another worker',
    deadline,
    async (t) => {
      const atNeo = remembering();
      const atTrinity = remembering();
      const { orchestrator } = await relayFleet(t, {
        neo: { script: atNeo.script },
        trinity: { script: atTrinity.script },
      });
      const neo = { routing: { target: 'neo' } };
      const trinity = { routing: { target: 'trinity' } };
      await work(orchestrator, [
        { brief: 'a', ...neo },
        { brief: 'x', caller: OTHER, ...neo },
        { brief: 'b', ...neo },
        { brief: 'y', caller: OTHER, ...neo },
        { brief: 'c', ...trinity },
        { brief: 'd', ...trinity },
        { brief: 'e', ...neo },
      ]);
      assert.deepEqual(atNeo.found, [undefined, undefined, ['a'], ['x'], undefined]);
      assert.deepEqual(atTrinity.found, [undefined, ['c']]);
    },
  );
});
