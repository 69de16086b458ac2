import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dispatching, inbound } from '../../testing/messages.ts';
import { spending } from '../../testing/relay-fleet.ts';
import { asking, CALLER, type Script, untilAborted } from '../../testing/scripts.ts';
import { subtaskFleet as fleet, ORCHESTRATES, OWN, resultsOf, tasksAt } from '../../testing/subtask-fleet.ts';
import type { TestProfile } from '../../testing/test-profile.ts';
import { fleetToolsOf, introduce, sending, toolCall, toolFleet } from '../../testing/tool-fleet.ts';

describe('a subtask in progress', () => {
  /** Work that waits for the gate and then spends tokens. */
  function held(tokens: number): { script: Script; begun: Promise<void>; letGo: () => void } {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    return {
      async script(task, context) {
        begun.resolve();
        await Promise.race([gate.promise, untilAborted(task, context)]);
        return spending(tokens)(task, context);
      },
      begun: begun.promise,
      letGo: gate.resolve,
    };
  }

  for (const [how, interrupt] of [
    ['a crash', (of: TestProfile) => of.crash()],
    [
      'a stop',
      async (of: TestProfile) => {
        await of.gateway.stop(2_000);
        await of.crash();
      },
    ],
  ] as const) {
    it(`continues after ${how} of its profile: one task at the peer, its tokens counted once`, async (t) => {
      const { script, begun, letGo } = held(40);
      const of = await fleet(
        t,
        [
          { agent: 'neo', brief: 'first' },
          { agent: 'neo', brief: 'second' },
        ],
        {
          neo: { script },
        },
      );
      const id = await of('switch').send(dispatching({ token_budget: 5_000 }, OWN));
      await begun;
      await of('switch').event(id, 'progress');
      await interrupt(of('switch'));
      await of('switch').restart();
      letGo();
      await introduce(of('switch'), [of('neo')]);
      const results = await resultsOf(of('switch'), id);
      assert.deepEqual(
        results.map(({ output }) => [output.status, output.tokens_spent]),
        [
          ['done', 40],
          ['done', 40],
        ],
      );
      const { tokensSpent } = await of('switch').result(id);
      assert.equal(tokensSpent, 80);
      assert.deepEqual([tasksAt(of('neo')), of('neo').runs.length], [2, 2]);
    });
  }

  it('is followed when its peer crashes and comes back', async (t) => {
    const { script, begun, letGo } = held(40);
    const of = await fleet(t, [{ agent: 'neo', brief: 'do it' }], { neo: { script } });
    const id = await of('switch').send(dispatching({}, OWN));
    await begun;
    await of('switch').event(id, 'progress');
    await of('neo').crash();
    letGo();
    await of('neo').restart();
    const [result] = await resultsOf(of('switch'), id);
    assert.deepEqual([result?.output.status, result?.output.tokens_spent], ['done', 40]);
    assert.equal(tasksAt(of('neo')), 1);
  });

  for (const crashes of [false, true])
    it(`passes the peer's question to the task's caller${crashes ? ', across a crash too' : ''}`, async (t) => {
      const of = await fleet(t, [{ agent: 'neo', brief: 'paint it' }], {
        neo: { script: asking('Which room?', 'Which wall?') },
      });
      const id = await of('switch').send(dispatching({ task_id: 'paint' }, OWN));
      const answer = (text: string) => of('switch').gateway.accept(inbound({ taskId: id, text }), CALLER);
      await of('switch').event(id, 'input_required');
      if (crashes) {
        await of('switch').crash();
        await of('switch').restart();
        await introduce(of('switch'), [of('neo')]);
      }
      await answer('The blue one.');
      await of('switch').event(id, 'input_required', 2);
      await answer('North.');
      const [result] = await resultsOf(of('switch'), id);
      assert.deepEqual([result?.output.status, result?.output.text], ['done', 'The blue one., North.']);
      assert.deepEqual([tasksAt(of('neo')), of('neo').runs.length], [1, 1]);
    });

  it('continues when the peer no longer waits for the answer', async (t) => {
    const of = await fleet(t, [{ agent: 'neo', brief: 'paint it' }], {
      neo: { script: asking('Which room?'), fleet: { limits: { max_input_wait_s: 0.3 } } },
    });
    const id = await of('switch').send(dispatching({ task_id: 'paint' }, OWN));
    await of('switch').event(id, 'input_required');
    const [result] = await resultsOf(of('switch'), id);
    assert.equal(result?.output.status, 'partial');
    assert.ok(of('switch').ledger.questions(id)[0]?.withdrawnAt, 'taken back');
    assert.equal(of('switch').gateway.queuedTasks(), 0);
  });

  it("leaves its run's slot to other tasks", async (t) => {
    const { script, begun, letGo } = held(1);
    const of = await toolFleet(t, {
      neo: { script },
      switch: {
        fleet: { ...ORCHESTRATES, limits: { max_concurrent_tasks: 1 } },
        script: (task, context) =>
          task.dispatch.brief === 'small'
            ? spending(0)(task, context)
            : sending(() => of('switch'), { agent: 'neo', brief: 'long' })(task, context),
      },
    });
    const long = await of('switch').send(dispatching({}, OWN));
    await begun;
    const small = await of('switch').result(
      await of('switch').send(dispatching({}, { ...OWN, brief: 'small' })),
    );
    assert.equal(small.status, 'done');
    assert.equal(of('switch').task(long).state === 'completed', false);
    letGo();
    assert.equal((await of('switch').result(long)).status, 'done');
  });

  it('does not block a subtask in the other direction, with one context and one slot each', async (t) => {
    const both = Promise.withResolvers<void>();
    let begun = 0;
    const crosswise =
      (self: string, other: string): Script =>
      async (task, context) => {
        if (task.dispatch.task.parent) return spending(5)(task, context);
        begun += 1;
        if (begun === 2) both.resolve();
        await both.promise;
        return sending(() => of(self), { agent: other, brief: 'the other half' })(task, context);
      };
    const limits = { max_concurrent_tasks: 1 };
    const of = await toolFleet(t, {
      switch: { fleet: { ...ORCHESTRATES, limits }, script: crosswise('switch', 'neo') },
      neo: { fleet: { limits }, script: crosswise('neo', 'switch') },
    });
    const send = (to: string) =>
      of(to).send({ ...dispatching({}, { routing: { target: to } }), contextId: 'shared' });
    const [a, b] = [await send('switch'), await send('neo')];
    const results = [...(await resultsOf(of('switch'), a)), ...(await resultsOf(of('neo'), b))];
    assert.deepEqual(
      results.map(({ output }) => [output.status, output.executed_by]),
      [
        ['done', 'neo'],
        ['done', 'switch'],
      ],
    );
  });

  it('is one of a bounded number', async (t) => {
    const { script, begun, letGo } = held(1);
    const of = await toolFleet(t, {
      neo: { script },
      switch: {
        fleet: ORCHESTRATES,
        async script(task, context) {
          const { delegateSubtask } = fleetToolsOf(() => of('switch'), { maxAtATime: 1 });
          const ask = { agent: 'neo', brief: 'do it' };
          const first = delegateSubtask(ask, toolCall(task, context, 'a'));
          await begun;
          const refused = await delegateSubtask(ask, toolCall(task, context, 'b')).catch((error) =>
            String(error),
          );
          letGo();
          return { ...(await spending(0)(task, context)), output: [(await first).ok, String(refused)] };
        },
      },
    });
    const { output } = await of('switch').result(await of('switch').send(dispatching({}, OWN)));
    assert.deepEqual(output, [
      true,
      'ToolError: switch has delegated 1 pieces of work, the maximum: do it yourself',
    ]);
  });

  it('must name a peer when the profile does not orchestrate', async (t) => {
    const of = await toolFleet(t, {
      trinity: { script: spending(3) },
      neo: {
        async script(task, context) {
          const { tool } = fleetToolsOf(() => of('neo'), { orchestrates: false });
          const open = await tool('fleet_send').run({ brief: 'do it' }, toolCall(task, context, 'a'));
          const named = await tool('fleet_send').run(
            { agent: 'trinity', brief: 'do it' },
            toolCall(task, context, 'b'),
          );
          return { ...(await spending(0)(task, context)), output: [open.output, named.ok] };
        },
      },
    });
    const { output } = await of('neo').result(await of('neo').send(dispatching()));
    assert.deepEqual(output, ['neo does not look for peers: name one; fleet_peers lists them', true]);
  });
});
