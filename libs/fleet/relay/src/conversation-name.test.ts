import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLER, DONE, dispatching, relayFleet } from '@hermes-fleet/gateway/testing';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';

type Fleet = Awaited<ReturnType<typeof relayFleet>>;
const WORKERS = { neo: { script: async () => DONE }, trinity: { script: async () => DONE } };
const NEIGHBOUR = { ...CALLER, name: 'neighbour' };

/** Sends a task by way of the orchestrator, and returns the task as the worker got it. */
async function received(
  { orchestrator, worker }: Fleet,
  {
    to = 'neo',
    caller = CALLER,
    contextId = 'c',
    task = {},
  }: { to?: string; caller?: typeof CALLER; contextId?: string; task?: JsonObject } = {},
): Promise<{ conversation: unknown; fresh: unknown }> {
  const id = await orchestrator.send(
    { ...dispatching(task, { routing: { target: to } }), contextId },
    caller,
  );
  const { status } = await orchestrator.result(id);
  assert.equal(status, 'done');
  const [newest = ''] = worker(to).runs.slice(-1);
  const sent = worker(to).task(newest).dispatch.task;
  assert.ok(isJsonObject(sent));
  return { conversation: sent.conversation, fresh: sent.fresh };
}

describe('the dispatch of an orchestrator', () => {
  it(
    'names a conversation for each caller, context and name of the caller, also after a restart',
    deadline,
    async (t) => {
      const fleet = await relayFleet(t, WORKERS);
      const names: unknown[] = [];
      for (const how of [{}, { caller: NEIGHBOUR }, { contextId: 'd' }, { task: { conversation: 'mine' } }])
        names.push((await received(fleet, how)).conversation);
      assert.equal(new Set(names).size, 4);
      for (const name of names) assert.match(String(name), /^[0-9a-f]{32}$/);
      await fleet.orchestrator.crash();
      await fleet.orchestrator.restart();
      await fleet.hear('neo');
      assert.equal((await received(fleet)).conversation, names[0]);
    },
  );

  it(
    'asks a worker that did not do the last task of the context for a fresh conversation',
    deadline,
    async (t) => {
      const fleet = await relayFleet(t, WORKERS);
      const fresh: unknown[] = [];
      for (const how of [
        {},
        {},
        { to: 'trinity' },
        { to: 'trinity' },
        { to: 'trinity', task: { fresh: true } },
        {},
        {},
      ])
        fresh.push((await received(fleet, how)).fresh);
      assert.deepEqual(fresh, [undefined, undefined, true, undefined, true, true, undefined]);
    },
  );
});
