import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JsonValue } from '@hermes-fleet/protocol';
import { deadline, fleetErrorOf, tempDir } from '@hermes-fleet/protocol/testing';
import { filesWith, folderContexts } from '../../testing/folder-contexts.ts';
import { idleCall } from '../../testing/idle-call.ts';
import { dispatching } from '../../testing/messages.ts';
import { CALLER, DONE, type Script } from '../../testing/scripts.ts';
import { ORCHESTRATES, OWN, resultsOf, tasksAt } from '../../testing/subtask-fleet.ts';
import { fleetToolsOf, toolCall, toolFleet } from '../../testing/tool-fleet.ts';
import { discardTool } from './discard-subtasks.ts';
import type { SubtaskRunner } from './subtask.ts';

const SECRET = 'a-secret-for-neo';
const INPUT = { agent: 'neo' };
const unused = () => assert.fail('not to be called');
const RUNNER: SubtaskRunner = {
  run: unused,
  unmet: unused,
  route: unused,
  contextOf: unused,
  discard: unused,
};

/** switch, whose tasks call these tools in turn, and neo, which does their subtasks. */
async function fleet(
  t: TestContext,
  calls: readonly (readonly [tool: string, input: object, onlyFor?: string])[],
) {
  const dir = tempDir(t);
  const contexts = folderContexts(dir);
  const script: Script = async (task, context) => {
    const { tool } = fleetToolsOf(() => of('switch'));
    const results: JsonValue[] = [];
    for (const [at, [name, input, onlyFor = task.caller.name]] of calls.entries()) {
      if (onlyFor !== task.caller.name) continue;
      if (name === 'neo crashes') {
        await of('neo').crash();
        continue;
      }
      const { ok, output } = await tool(name).run(input, toolCall(task, context, `${at + 1}.0`));
      results.push({ ok, output });
    }
    return { ...DONE, output: results };
  };
  const of = await toolFleet(t, {
    switch: { fleet: ORCHESTRATES, script },
    neo: { script: contexts.script, contexts },
    trinity: { script: contexts.script },
  });
  const run = async (contextId = 'c', caller = CALLER) => {
    const id = await of('switch').send({ ...dispatching({}, OWN), contextId }, caller);
    return resultsOf(of('switch'), id);
  };
  return { of, run, secrets: () => filesWith(SECRET, dir, of('neo').dir) };
}

test(
  "an agent deletes what its own subtasks left at a peer, and nothing else of its caller's",
  deadline,
  async (t) => {
    const { of, run, secrets } = await fleet(t, [
      ['fleet_send', { agent: 'neo', brief: `keep ${SECRET}` }],
      ['fleet_discard', { agent: 'neo', results: 'delete' }],
      ['fleet_discard', { agent: 'neo' }],
      ['fleet_send', { agent: 'neo', brief: 'something else' }],
    ]);
    const switched = { ...CALLER, name: 'switch' };
    const same = await of('neo').send({ ...dispatching(), contextId: 'c' }, switched);
    await of('neo').result(same);
    const results = await run();
    assert.deepEqual(
      results.map(({ ok }) => ok),
      [true, true, true, true],
    );
    assert.deepEqual(results[1]?.output, { state: 'deleted' });
    assert.deepEqual(secrets(), []);
    assert.equal(tasksAt(of('neo')), 2);
    assert.equal(of('neo').task(same).contextId, 'c');
  },
);

test(
  'callers that share a context share none of its subtasks: neither deletes or reaches those of the other',
  deadline,
  async (t) => {
    const { of, run } = await fleet(t, [
      ['fleet_send', { agent: 'neo', brief: 'a part' }],
      ['fleet_discard', { agent: 'neo', results: 'delete' }, CALLER.name],
    ]);
    const neighbour = { ...CALLER, name: 'neighbour' };
    for (const caller of [neighbour, CALLER])
      for (const { ok } of await run('c', caller)) assert.equal(ok, true);
    const forged = { ...dispatching({}, { routing: { target: 'neo' } }), contextId: 'c/switch' };
    await of('switch').result(await of('switch').send(forged));
    const left = of('neo').ledger.list({ pageSize: 10 });
    const theirs = of('switch').ledger.contexts.subtasksContextId('neighbour', 'c');
    assert.deepEqual(left.tasks.map(({ contextId }) => contextId).sort(), ['c/switch', theirs]);
    for (const target of ['neo', 'switch']) {
      const known = { ...dispatching({}, { routing: { target } }), contextId: theirs };
      const { code, fields } = await fleetErrorOf(of('switch').send(known));
      assert.deepEqual([code, fields[0]?.path], ['INVALID_PARAMS', 'message.contextId']);
    }
    assert.equal(tasksAt(of('neo')), 2);
  },
);

test('nothing is deleted where the task itself sent nothing', deadline, async (t) => {
  const { of, run } = await fleet(t, [
    ['fleet_discard', { agent: 'neo' }],
    ['fleet_send', { agent: 'neo', brief: 'a part' }],
    ['fleet_discard', { agent: 'trinity' }],
    ['fleet_discard', { agent: 'neo', context_id: 'd' }],
  ]);
  for (const contextId of ['c', 'd']) {
    const [first, , other, extra] = await run(contextId);
    assert.deepEqual(first, {
      ok: false,
      output: { said: 'nothing of this task was sent to neo with fleet_send' },
    });
    assert.match(String(other?.output.said), /sent to trinity/);
    assert.match(String(extra?.output.said), /wrong input.*context_id/);
  }
  assert.equal(tasksAt(of('neo')), 2);
});

test('a peer that is away is an error that says to try again', deadline, async (t) => {
  const { run } = await fleet(t, [
    ['fleet_send', { agent: 'neo', brief: 'a part' }],
    ['neo crashes', {}],
    ['fleet_discard', { agent: 'neo' }],
  ]);
  const [, away] = await run();
  assert.equal(away?.ok, false);
  // The network's reason depends on whether the connection of an earlier request was still kept.
  const said = /^it is not all deleted yet: neo does not answer \(\w+\); try again later$/;
  assert.match(String((away?.output as { said?: unknown } | undefined)?.said), said);
});

test('a peer that refuses is no success', async () => {
  const discard = async () => ({ state: 'refused', detail: 'neo refuses it' }) as const;
  const { ok, output } = await discardTool({ subtasks: () => ({ ...RUNNER, discard }) }).run(
    INPUT,
    idleCall(),
  );
  assert.deepEqual([ok, output], [false, { state: 'refused', detail: 'neo refuses it' }]);
});

test('the tool needs the scope dispatch, and is repeated after a crash', async () => {
  const tool = discardTool({ subtasks: () => assert.fail('nobody is asked') });
  const { ok, output } = await tool.run(INPUT, idleCall({ name: 'reader', scopes: new Set(['read']) }));
  assert.equal(ok, false);
  assert.match(String(output), /^reader, for whom this task is done, lacks the scope dispatch$/);
  assert.deepEqual([tool.mutates, tool.repeatable], [true, true]);
});
