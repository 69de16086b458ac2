import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { a2aTools, testBudget, testCall, told } from '../../testing/call-tool.ts';
import { freePort } from '../../testing/free-port.ts';
import { profile } from '../../testing/profile.ts';
import { spending } from '../../testing/relay-fleet.ts';
import type { Script } from '../../testing/scripts.ts';

/** A serving profile, and the A2A tools of a process that has registered it as an agent. */
async function registeredProfile(t: TestContext, script: Script, token = 'token-of-switch-for-neo') {
  const agents = { switch: await freePort(), neo: await freePort() };
  const neo = await profile(t, { name: 'neo', agents, script });
  await neo.serve();
  const url = `http://127.0.0.1:${agents.neo}`;
  const tools = a2aTools({
    agents: { neo: { url, description: 'A profile.', token_env: 'TOKEN' } },
    env: { read: () => token },
  });
  return { neo, tools };
}

describe('a profile as a registered agent', () => {
  it('is recognized by its card, works, and its reported tokens are counted', async (t) => {
    const { tools } = await registeredProfile(t, spending(70));
    const card = told(await tools('a2a_discover').run({ name: 'neo' }, testCall()));
    assert.deepEqual([card.handshake, card.a2a_version], [true, '1.0']);
    for (const [index, tool] of ['a2a_call', 'a2a_call_streaming'].entries()) {
      const budget = testBudget();
      const call = testCall({ budget, key: `${index}.0` });
      const result = await tools(tool).run({ name: 'neo', message: 'a part' }, call);
      assert.equal(result.ok, true, JSON.stringify(result));
      assert.match(JSON.stringify(result.output), /did a part/);
      assert.equal(budget.usage().delegatedTokens, 70);
    }
  });

  it('asks a question, and is answered in the same task', async (t) => {
    const { neo, tools } = await registeredProfile(t, async (_task, context) => ({
      status: 'done',
      nextSteps: [],
      blockedReason: null,
      artifacts: { filesChanged: [] },
      text: `painted it ${await context.ask('Which colour?', { key: 'q' })}`,
    }));
    const asked = told(await tools('a2a_call').run({ name: 'neo', message: 'paint' }, testCall()));
    assert.deepEqual([asked.state, asked.text], ['input_required', 'Which colour?']);
    const answer = { name: 'neo', message: 'blue', task_id: asked.task_id ?? '' };
    const result = told(await tools('a2a_call').run(answer, testCall({ key: '2.0' })));
    assert.deepEqual([result.state, result.task_id], ['completed', asked.task_id]);
    assert.match(JSON.stringify(result.artifacts), /painted it blue/);
    assert.equal(neo.runs.length, 1);
  });

  it('has not accepted the work when it refuses the token', async (t) => {
    const { neo, tools } = await registeredProfile(t, spending(1), 'token-that-is-wrong-0123456789');
    const { ok, output } = await tools('a2a_call').run({ name: 'neo', message: 'x' }, testCall());
    assert.equal(ok, false);
    assert.match(String(output), /^neo did not take it: .*UNAUTHENTICATED/);
    assert.deepEqual(neo.runs, []);
  });
});
