import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { JsonValue } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import { dispatching } from '../../testing/messages.ts';
import { DONE, type Script } from '../../testing/scripts.ts';
import { ORCHESTRATES, OWN, resultsOf, tasksAt } from '../../testing/subtask-fleet.ts';
import { fleetToolsOf, toolCall, toolFleet } from '../../testing/tool-fleet.ts';

const WEB = { name: 'web', base: 'main' };
const say: Script = async ({ dispatch: { task } }) => ({
  ...DONE,
  text: JSON.stringify(task.repository ?? null),
});
const CALLS = [
  ['fleet_route', { in_repository: true }],
  ['fleet_send', { agent: 'neo', brief: 'one' }],
  ['fleet_send', { agent: 'neo', brief: 'two', in_repository: true }],
  ['fleet_send', { agent: 'neo', brief: 'three', in_repository: false }],
  ['fleet_send', { brief: 'four', in_repository: true }],
  ['fleet_discard', { agent: 'neo' }],
] as const;

it(
  'parts of a task are in its repository or not, in contexts of their own, and are deleted together',
  deadline,
  async (t) => {
    const script: Script = async (task, context) => {
      const { tool } = fleetToolsOf(() => of('switch'));
      const results: JsonValue[] = [];
      for (const [at, [name, input]] of CALLS.entries()) {
        const { ok, output } = await tool(name).run(input, toolCall(task, context, `${at + 1}.0`));
        results.push({ ok, output });
      }
      return { ...DONE, output: results };
    };
    const of = await toolFleet(t, {
      switch: { fleet: ORCHESTRATES, script, repositories: ['web'] },
      neo: { script: say, repositories: ['web'] },
      trinity: { script: say },
    });
    const id = await of('switch').send(dispatching({ repository: WEB }, OWN));
    const [route, ...results] = await resultsOf(of('switch'), id);
    assert.equal(route?.output.chosen, 'neo');
    assert.deepEqual(
      results.slice(0, 4).map(({ output }) => output.text),
      ['null', JSON.stringify(WEB), 'null', JSON.stringify(WEB)],
    );
    assert.deepEqual(results.at(-1), { ok: true, output: { state: 'deleted' } });
    assert.equal(tasksAt(of('neo')), 0);
  },
);
