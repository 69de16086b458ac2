import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DONE, dispatching, relayFleet, type Script } from '@hermes-fleet/gateway/testing';

const say: Script = async ({ dispatch: { task, requirements } }) => ({
  ...DONE,
  text: JSON.stringify([task.repository, requirements?.requiredCapabilities]),
});
const WEB = { name: 'web', base: 'main' };

it('a task with a repository goes to a worker that announces it, and so do further tasks of its context', async (t) => {
  const { orchestrator } = await relayFleet(t, {
    neo: { script: say, tier: 'sonnet' },
    trinity: { script: say, tier: 'opus', repositories: ['web'] },
  });
  for (const message of [dispatching({ repository: WEB }), dispatching(), { text: 'go on' }]) {
    const id = await orchestrator.send({ ...message, contextId: 'c' });
    const { executedBy, text } = await orchestrator.result(id);
    assert.deepEqual([executedBy, text], ['trinity', JSON.stringify([WEB, ['repository:web']])]);
  }
  const elsewhere = await orchestrator.result(await orchestrator.send(dispatching()));
  assert.deepEqual([elsewhere.executedBy, elsewhere.text], ['neo', '[null,null]']);
});

it('a task whose repository no worker announces is blocked at once, whatever may be waited for', async (t) => {
  const { orchestrator } = await relayFleet(t, { neo: { script: say, repositories: ['api'] } });
  const id = await orchestrator.send(dispatching({ repository: WEB }, { routing: { on_blocked: 'queue' } }));
  const { status, unmet, tokensSpent } = await orchestrator.result(id);
  assert.deepEqual([status, tokensSpent], ['blocked', 0]);
  assert.deepEqual(
    unmet?.map(({ kind, name, transient }) => [kind, name, transient]),
    [['capability', 'repository:web', false]],
  );
});
