import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { deadline } from '@hermes-fleet/protocol/testing';
import { startStockAgent } from '../../../../../test/support/stock-agent.ts';
import { a2aTools } from '../../testing/call-tool.ts';
import { deleteOverHttp } from '../../testing/folder-contexts.ts';
import { dispatching } from '../../testing/messages.ts';
import { profile } from '../../testing/profile.ts';
import { DONE } from '../../testing/scripts.ts';
import { toolCall } from '../../testing/tool-fleet.ts';
import { createRegisteredAgents } from '../a2a-tools/registered-agents.ts';

const DETAIL = 'helper got messages over A2A, which has no deletion: have its operator delete this context';

test(
  'agents that were called over A2A are named in a deletion, each context once, also after a crash',
  deadline,
  async (t) => {
    const asked = Promise.withResolvers<void>();
    const agent = await startStockAgent(t, {
      behaviour: async (text) => {
        if (text === 'crash') asked.resolve();
        return text === 'crash' ? new Promise<string>(() => undefined) : 'ok';
      },
    });
    const agents = { helper: { url: new URL(agent.rpcUrl).origin, description: 'Helps.' } };
    const tool = a2aTools({ agents });
    const remote = createRegisteredAgents({
      agents,
      env: { read: () => undefined },
      clock: systemClock,
      log: silentLog,
    });
    const of = await profile(t, {
      name: 'switch',
      async script(task, context) {
        const call = (key: string) => toolCall(task, context, key);
        const named = { name: 'helper', context_id: 'chosen' };
        if (task.dispatch.brief === 'crash')
          await tool('a2a_call').run({ name: 'helper', message: 'crash' }, call('1.0'));
        await tool('a2a_call').run({ ...named, message: 'one' }, call('1.0'));
        await tool('a2a_call_streaming').run({ ...named, message: 'two' }, call('2.0'));
        await remote.send('helper', { brief: 'three', tokenBudget: undefined }, call('3.0'));
        return DONE;
      },
    });
    await of.serve();
    const id = await of.send({ ...dispatching(), contextId: 'c' });
    assert.equal((await of.result(id)).status, 'done');
    assert.equal(agent.messages.length, 3);
    const { status, body } = await deleteOverHttp(of, 'c');
    const row = (context_id: string) => ({
      peer: 'helper',
      context_id,
      state: 'unsupported',
      detail: DETAIL,
    });
    assert.equal(status, 200);
    assert.deepEqual(
      body.peers.toSorted((a: { context_id: string }, b: { context_id: string }) =>
        a.context_id < b.context_id ? -1 : 1,
      ),
      [row(`${id}/3.0`), row('chosen')].toSorted((a, b) => (a.context_id < b.context_id ? -1 : 1)),
    );
    assert.deepEqual(of.ledger.contexts.deletions(), []);

    const lost = await of.send({ ...dispatching({ task_id: 'lost' }, { brief: 'crash' }), contextId: 'd' });
    await asked.promise;
    await of.crash();
    await of.restart(async () => DONE);
    await of.result(lost);
    assert.deepEqual((await deleteOverHttp(of, 'd')).body.peers, [row(`${lost}/1.0`)]);
  },
);
