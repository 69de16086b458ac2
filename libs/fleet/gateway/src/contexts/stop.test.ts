import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { deadline } from '@hermes-fleet/protocol/testing';
import { dispatching } from '../../testing/messages.ts';
import { profile } from '../../testing/profile.ts';
import type { AgentContexts } from './context-deletions.ts';

test('a gateway that stops waits for the removals under way, and begins no other', deadline, async (t) => {
  const begun: string[] = [];
  const eight = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const contexts: AgentContexts = {
    remove: async (contextId) => {
      begun.push(contextId);
      if (begun.length === 8) eight.resolve();
      await released.promise;
      return { files: true, result: 'none' };
    },
  };
  const { gateway, ledger, send, result } = await profile(t, { contexts });
  t.after(() => released.resolve());
  const ids = Array.from({ length: 10 }, (_, at) => `c-${at}`);
  for (const contextId of ids) await result(await send({ ...dispatching(), contextId }));
  const answers = ids.map((contextId) =>
    gateway.contexts.delete({ contextId, caller: 'operator', results: 'keep' }),
  );
  await eight.promise;
  const left = gateway.stop(60_000).then(() => ledger.contexts.deletions().length);
  // A stop that waits for nothing ends within these turns of the event loop.
  for (let turns = 0; turns < 20; turns += 1) await turn();
  released.resolve();
  assert.equal(await left, 2, 'what had begun is recorded');
  assert.equal(begun.length, 8);
  await Promise.all(answers);
});
