import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { silentLog, systemClock, type TokenEntry } from '@hermes-fleet/protocol/ports';
import { testBudget, testCall } from '../../testing/call-tool.ts';
import { type OddReply, oddAgent, taskOf } from '../../testing/odd-agent.ts';
import { registered, say } from '../../testing/odd-calls.ts';
import { createRegisteredAgents } from './registered-agents.ts';

const spent = (tokens: number): JsonObject => ({
  artifacts: [{ artifactId: 'a', parts: [{ data: { type: 'TASK_RESULT', tokens_spent: tokens } }] }],
});
const done = taskOf('COMPLETED', spent(500));
const doing: OddReply = ({ method }) => (method === 'SendMessage' ? { task: done } : done);

describe('the tokens that an agent spent on one task', () => {
  it('are counted once, although the process ended between the booking and the result of the call', async (t) => {
    const agent = await oddAgent(t, { reply: doing });
    const entries: TokenEntry[] = [];
    const call = testCall({ budget: testBudget(undefined, entries) });
    await say(agent, call);
    const restarted = testBudget(undefined, entries);
    await say(
      agent,
      testCall({ budget: restarted, taskId: call.task.id, memo: { contextId: 'c-1', taskId: 'r-1' } }),
    );
    const sends = agent.calls.filter(({ method }) => method === 'SendMessage').length;
    assert.deepEqual([restarted.usage().delegatedTokens, sends], [500, 1]);
  });

  it('are counted once, although they are read again after a restart', async (t) => {
    const agent = await oddAgent(t, { reply: doing });
    const entries: TokenEntry[] = [];
    for (const key of ['1.0', '2.0']) {
      const budget = testBudget(undefined, entries);
      const call = testCall({ budget, key, taskId: 't' });
      await registered(agent)('a2a_get_task').run({ name: 'odd', task_id: 'r-1' }, call);
      assert.equal(budget.usage().delegatedTokens, 500);
    }
  });

  it('are counted once, although the task was delegated and then read by a tool', async (t) => {
    const agent = await oddAgent(t, { reply: doing });
    const agents = { odd: { url: agent.base, description: 'Odd.' } };
    const remotes = createRegisteredAgents({
      agents,
      env: { read: () => undefined },
      clock: systemClock,
      log: silentLog,
    });
    const budget = testBudget();
    await remotes.send('odd', { brief: 'do it' }, testCall({ budget, taskId: 't' }));
    const looking = testCall({ budget, taskId: 't', key: '2.0' });
    await registered(agent)('a2a_get_task').run({ name: 'odd', task_id: 'r-1' }, looking);
    assert.equal(budget.usage().delegatedTokens, 500);
  });

  it("are counted as they grow, and for each of the agent's tasks", async (t) => {
    let tokens = 100;
    const agent = await oddAgent(t, {
      reply: ({ params }) => ({ ...taskOf('WORKING', spent(tokens)), id: String(params.id) }),
    });
    const tools = registered(agent);
    const budget = testBudget();
    for (const [task_id, more, sum] of [
      ['r-1', 0, 100],
      ['r-1', 20, 120],
      ['r-2', 0, 240],
    ] as const) {
      tokens += more;
      await tools('a2a_get_task').run({ name: 'odd', task_id }, testCall({ budget }));
      assert.equal(budget.usage().delegatedTokens, sum);
    }
  });

  for (const [name, cancels] of [
    ['is counted where it is canceled', true],
    ['is counted where it had ended before it could be canceled', false],
  ] as const)
    it(name, async (t) => {
      const call = testCall();
      const agent = await oddAgent(t, {
        reply({ method }, _request, response) {
          if (method === 'SendMessage') return { task: taskOf('WORKING') };
          if (method === 'CancelTask' && cancels) return taskOf('CANCELED', spent(70));
          if (method === 'GetTask' && call.signal.aborted) return taskOf('COMPLETED', spent(70));
          if (method === 'CancelTask')
            response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32002, message: 'over' } }));
          // Followers see nothing until the call has ended.
          else call.ending.abort(new FleetError('CANCELED', 'enough'));
          return undefined;
        },
      });
      await assert.rejects(say(agent, call), /enough/);
      assert.equal(call.budget.usage().delegatedTokens, 70);
    });
});
