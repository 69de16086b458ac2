import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { dispatching } from '../../testing/messages.ts';
import { spending } from '../../testing/relay-fleet.ts';
import { CALLER, untilAborted } from '../../testing/scripts.ts';
import { subtaskFleet as fleet, ORCHESTRATES, OWN, resultsOf, tasksAt } from '../../testing/subtask-fleet.ts';
import { fleetToolsOf, toolCall, toolFleet } from '../../testing/tool-fleet.ts';

describe('a subtask', () => {
  it('follows the handshake: half the budget, the deadline, the path, and its parent task', async (t) => {
    const of = await fleet(
      t,
      [
        {
          agent: 'neo',
          brief: 'a part',
          reply_schema: 'structured',
          requirements: { required_mcp: ['memory'] },
        },
      ],
      { neo: { script: spending(70) } },
      { before: spending(1_000) },
    );
    const deadline = new Date(Date.now() + 60_000).toISOString();
    const message = dispatching(
      { task_id: 'abc', token_budget: 5_000, priority: 'high' },
      { ...OWN, deadline },
    );
    const id = await of('switch').send({ ...message, contextId: 'ctx' });
    const result = await of('switch').result(id);
    assert.deepEqual(await resultsOf(of('switch'), id), [
      {
        ok: true,
        output: {
          status: 'done',
          executed_by: 'neo',
          tokens_spent: 70,
          text: 'did a part',
          files_changed: ['a.ts'],
        },
      },
    ]);
    assert.deepEqual([result.tokensSpent, result.usage?.delegatedTokens], [1_070, 70]);
    const [remote = ''] = of('neo').runs;
    const { dispatch, contextId, caller } = of('neo').task(remote);
    const { contexts } = of('switch').ledger;
    const own = contexts.subtasksContextId('operator', 'ctx');
    const { accept_until: acceptUntil, ...routing } = isJsonObject(dispatch.routing) ? dispatch.routing : {};
    assert.match(String(acceptUntil), /^\d{4}-.*Z$/);
    assert.deepEqual(
      { ...dispatch, routing },
      {
        type: 'TASK_DISPATCH',
        protocol_version: '2.0',
        task: {
          task_id: `${id}/1.0`,
          priority: 'high',
          reply_schema: 'structured',
          token_budget: 2_000,
          root_id: 'abc',
          root_caller: 'operator',
          path: ['switch'],
          conversation: contexts.conversationName('operator', own, undefined),
          parent: { task_id: 'abc', profile: 'switch' },
        },
        requirements: { required_mcp: ['memory'] },
        deadline,
        brief: 'a part',
        routing: { target: 'neo', on_blocked: 'fail', when_full: 'refuse' },
      },
    );
    assert.deepEqual([contextId, caller], [own, 'switch']);
    const { peer, part, part_context_id } = await of('switch').event(id, 'delegated');
    assert.deepEqual([peer, part, part_context_id], ['neo', `${id}/1.0`, own]);
  });

  it('gets the requested slice, but never what the run needs itself', async (t) => {
    const ask = (token_budget: number) => ({ agent: 'neo', brief: 'a part', token_budget });
    const of = await fleet(
      t,
      [ask(500), ask(99_999)],
      { neo: { script: spending(10) } },
      { before: spending(3_000) },
    );
    const id = await of('switch').send(dispatching({ token_budget: 10_000 }, OWN));
    await of('switch').result(id);
    const given = of('neo').runs.map((run) => {
      const { task } = of('neo').task(run).dispatch;
      return isJsonObject(task) ? task.token_budget : undefined;
    });
    // 10,000 - 3,000 spent - 10 by the first subtask; the run keeps as much as its steps have cost so far.
    assert.deepEqual(given, [500, 3_990]);
  });

  it('reports why no peer accepts it, at once when a peer is named, and the run continues', async (t) => {
    const of = await fleet(
      t,
      [
        { agent: 'neo', brief: 'write it' },
        { agent: 'nobody', brief: 'do it' },
        { agent: 'switch', brief: 'do it' },
        { agent: 'auto', brief: 'do it', requirements: { required_mcp: ['nope'] } },
        { agent: 'neo', brief: 'do it', output_schema: { type: 'nonsense' }, reply_schema: 'json' },
        { agent: 'neo', brief: 'only read', write: false },
      ],
      { neo: { script: spending(7) } },
    );
    of('neo').facts.clean = false;
    const id = await of('switch').send(dispatching({ token_budget: 10_000 }, OWN));
    const [dirty, nobody, self, unable, wrong, done] = await resultsOf(of('switch'), id);
    assert.deepEqual([dirty?.ok, dirty?.output.status, dirty?.output.tokens_spent], [false, 'blocked', 0]);
    assert.match(String(dirty?.output.blocked_reason), /neo: the working tree \/app is dirty/);
    const [unmet] = Array.isArray(dirty?.output.unmet) ? dirty.output.unmet : [];
    assert.ok(isJsonObject(unmet) && unmet.kind === 'repo' && unmet.transient === false);
    assert.match(String(nobody?.output.blocked_reason), /"nobody" is not a peer of switch/);
    assert.match(String(self?.output.blocked_reason), /"switch" is not a peer of switch/);
    assert.match(String(unable?.output.blocked_reason), /"nope" is not declared by any live peer/);
    assert.match(String(wrong?.output.said), /task\.output_schema/);
    assert.deepEqual([done?.ok, done?.output.status], [true, 'done']);
    const { status, tokensSpent } = await of('switch').result(id);
    assert.deepEqual([status, tokensSpent], ['done', 7]);
  });

  it("goes to the next peer after a refusal with auto, and reports it in the task's events", async (t) => {
    const of = await fleet(t, [{ brief: 'write it' }], {
      neo: { script: spending(1), tier: 'sonnet' },
      trinity: { script: spending(2), tier: 'opus' },
    });
    of('neo').facts.clean = false;
    const id = await of('switch').send(dispatching({}, OWN));
    const [result] = await resultsOf(of('switch'), id);
    assert.deepEqual([result?.output.executed_by, result?.output.tokens_spent], ['trinity', 2]);
    assert.deepEqual(
      (Array.isArray(result?.output.attempts) ? result.output.attempts : []).map((each) =>
        isJsonObject(each) ? [each.peer, each.status] : [],
      ),
      [
        ['neo', 'blocked'],
        ['trinity', 'done'],
      ],
    );
    const { from, to, part } = await of('switch').event(id, 'rerouted');
    assert.deepEqual([from, to, part], ['neo', 'trinity', `${id}/1.0`]);
  });

  it('cannot close a cycle or exceed the longest path', async (t) => {
    const send = { agent: 'neo', brief: 'go on' };
    const of = await fleet(t, [send, { brief: 'go on' }], {
      neo: { script: spending(1) },
      trinity: { script: spending(1) },
    });
    const through = async (path: string[]) =>
      resultsOf(of('switch'), await of('switch').send(dispatching({ path }, OWN)));
    const [circle, open] = await through(['neo']);
    assert.match(
      String(circle?.output.blocked_reason),
      /has already had this task: sending it again would make a cycle/,
    );
    assert.equal(open?.output.executed_by, 'trinity');
    const [long] = await through(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    assert.match(String(long?.output.blocked_reason), /came through 9 profiles, at most 8/);
    assert.deepEqual([tasksAt(of('neo')), tasksAt(of('trinity'))], [0, 1]);
  });

  it('requires the scope dispatch; read is enough to list and explain', async (t) => {
    const of = await toolFleet(t, {
      neo: {},
      switch: {
        fleet: ORCHESTRATES,
        async script(task, context) {
          const { tool } = fleetToolsOf(() => of('switch'));
          const callAs = (name: string, ...scopes: string[]) => ({
            ...toolCall(task, context),
            task: { ...task, caller: { name, scopes: new Set(scopes) } },
          });
          const sent = await tool('fleet_send').run({ agent: 'neo', brief: 'x' }, callAs('reader', 'read'));
          const route = await tool('fleet_route').run({ agent: 'neo' }, callAs('reader', 'read'));
          const peers = await tool('fleet_peers').run({}, callAs('nobody', 'announce'));
          return { ...(await spending(0)(task, context)), output: [sent.output, route.ok, peers.output] };
        },
      },
    });
    const { output } = await of('switch').result(await of('switch').send(dispatching({}, OWN)));
    assert.deepEqual(output, [
      'reader, for whom this task is done, lacks the scope dispatch',
      true,
      'nobody, for whom this task is done, lacks the scope read or dispatch',
    ]);
    assert.equal(tasksAt(of('neo')), 0);
  });

  it('is canceled at the peer with its task, and the tokens spent there are counted', async (t) => {
    const spent = Promise.withResolvers<void>();
    const of = await fleet(t, [{ agent: 'neo', brief: 'hang' }], {
      neo: {
        async script(task, context) {
          await spending(30)(task, context);
          spent.resolve();
          return untilAborted(task, context);
        },
      },
    });
    const id = await of('switch').send(dispatching({}, OWN));
    await spent.promise;
    await of('switch').gateway.cancel(id, CALLER);
    const { error, tokensSpent } = await of('switch').result(id);
    assert.deepEqual([error?.code, tokensSpent], ['canceled', 30]);
    const [remote = ''] = of('neo').runs;
    assert.equal(of('neo').task(remote).state, 'canceled');
  });

  it("ends at the peer when the task's deadline passes", async (t) => {
    const of = await fleet(t, [{ agent: 'neo', brief: 'hang' }], { neo: { script: untilAborted } });
    const deadline = new Date(Date.now() + 2_500).toISOString();
    const id = await of('switch').send(dispatching({}, { ...OWN, deadline }));
    const { error } = await of('switch').result(id);
    assert.equal(error?.code, 'deadline_exceeded');
    const [remote = ''] = of('neo').runs;
    const there = await of('neo').result(remote);
    assert.equal(there.error?.code, 'deadline_exceeded');
  });
});
