import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import {
  DONE,
  dispatching,
  freePort,
  profile,
  relayFleet,
  type Script,
  spending,
  type TestProfile,
} from '@hermes-fleet/gateway/testing';
import { announceOf } from '@hermes-fleet/peers/testing';
import { HANDSHAKE_EXTENSION, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { encodeResult } from '@hermes-fleet/protocol/handshake';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { createMetrics } from '@hermes-fleet/service';
import { createScheduler, Lane } from '@hermes-fleet/tasks';
import { createRelay } from './relay.ts';

/** The relay of a worker, for a script that delegates its task. */
function relayOf({ name, peers }: TestProfile) {
  return createRelay({
    peers,
    client: createA2AClient({ clock: systemClock, log: silentLog, extensions: [HANDSHAKE_EXTENSION] }),
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics({ profile: name, peers: [], callers: [], defaultMetrics: false }),
    policy: {
      self: name,
      versions: ['2.0'],
      tiers: ['haiku', 'sonnet', 'opus'],
      smallBelowTokens: 2_000,
      largeAboveTokens: 50_000,
    },
    onBlocked: 'fail',
    maxAttempts: 3,
    peerDownAfterMs: 20_000,
    onGivenUp: () => undefined,
    homeOf: () => undefined,
    repositoryTokenOf: () => 'token',
    conversationOf: ({ caller }) => caller.name,
    patienceMs: 0,
    maxWaitMs: 1_000,
    scheduler: createScheduler({ clock: systemClock, log: silentLog, ageingMs: 60_000 }),
    lane: new Lane({ name: 'relay', places: 9, depth: 9 }),
    parts: new Lane({ name: 'parts', places: 9, depth: 9 }),
    random: () => 0,
  });
}

/** switch delegates to neo, which does a part itself and delegates the rest to `to`. */
async function chain(t: TestContext, to: string) {
  const delegating: Script = async (task, context) => {
    await spending(10)(task, context);
    const dispatch = { ...task.dispatch, routing: { target: to } };
    return relayOf(made.worker('neo')).run({ ...task, dispatch }, context);
  };
  const made = await relayFleet(t, {
    neo: { script: delegating, tier: 'sonnet' },
    trinity: { script: spending(5), tier: 'opus' },
  });
  const trinity = await made.worker('trinity').gateway.freshAnnounce();
  await made.worker('neo').peers.record(trinity, { name: 'trinity' });
  return made;
}

const send = (orchestrator: TestProfile, task: JsonObject = {}): Promise<string> =>
  orchestrator.send(
    dispatching({ task_id: 'abc', token_budget: 1_000, ...task }, { routing: { target: 'neo' } }),
  );

describe('three hops', () => {
  it('know their parent, root and path; budgets are slices, and own and delegated tokens are counted apart', async (t) => {
    const { orchestrator, worker } = await chain(t, 'trinity');
    const id = await send(orchestrator);
    const result = await orchestrator.result(id);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.deepEqual([result.tokensSpent, result.usage?.delegatedTokens], [15, 15]);
    assert.deepEqual([result.executedBy, result.taskId], ['trinity', 'abc']);

    const second = worker('neo').runs[0] ?? '';
    const { dispatch, contextId } = worker('neo').task(second);
    assert.deepEqual(dispatch.task, {
      task_id: id,
      token_budget: 1_000,
      conversation: orchestrator.ledger.contexts.conversationName('operator', contextId, undefined),
      parent: { task_id: 'abc', profile: 'switch' },
      root_id: 'abc',
      root_caller: 'operator',
      path: ['switch'],
    });
    const middle = await worker('neo').result(second);
    assert.deepEqual(
      [middle.tokensSpent, middle.usage?.inputTokens, middle.usage?.delegatedTokens],
      [15, 10, 5],
    );

    const third = worker('trinity').runs[0] ?? '';
    assert.deepEqual(worker('trinity').task(third).dispatch.task, {
      task_id: second,
      token_budget: 990,
      conversation: 'switch',
      parent: { task_id: id, profile: 'neo' },
      root_id: 'abc',
      root_caller: 'operator',
      path: ['switch', 'neo'],
    });
    const last = await worker('trinity').result(third);
    assert.deepEqual([last.tokensSpent, last.usage?.delegatedTokens ?? 0], [5, 0]);
  });

  it('have one root and its caller in the events of all', async (t) => {
    const { orchestrator, worker } = await chain(t, 'trinity');
    // A client cannot name another caller: its own name counts, and goes on with the task.
    const id = await send(orchestrator, { root_caller: 'mallory' });
    await orchestrator.result(id);
    const root = { root_id: 'abc', root_caller: 'operator' };
    for (const [at, chained] of [
      [orchestrator, root],
      [worker('neo'), { ...root, parent_task_id: 'abc', parent_profile: 'switch' }],
      [worker('trinity'), { ...root, parent_task_id: id, parent_profile: 'neo' }],
    ] as const) {
      const events = at.ledger.outbox.read(0, 100);
      assert.ok(events.length > 3);
      for (const { event } of events) {
        const named = Object.entries(event.data).filter(([name]) => /^root_|^parent_/.test(name));
        assert.deepEqual(Object.fromEntries(named), chained);
      }
    }
  });

  it('reject a cycle before anything is sent', async (t) => {
    const { orchestrator, worker } = await chain(t, 'switch');
    const { gateway, peers } = worker('neo');
    await peers.record(await orchestrator.gateway.freshAnnounce(), { name: 'switch' });
    const result = await orchestrator.result(await send(orchestrator));
    assert.deepEqual([result.status, result.error?.code, result.tokensSpent], ['error', 'blocked', 10]);
    assert.match(
      result.error?.message ?? '',
      /has already had this task: sending it again would make a cycle/,
    );
    assert.equal(orchestrator.ledger.list({ pageSize: 10 }).totalSize, 1);
    assert.equal(gateway.activeTasks(), 0);
  });
});

describe('the path of a task', () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `p${at}`);
  const rows: [string, string[], RegExp][] = [
    ['that leads back is refused', ['switch'], /the task came through switch before/],
    ['of more than 8 profiles is refused', names(9), /at most 8 are allowed/],
    ['that relaying would make longer than 8 is refused', names(8), /at most 8 are allowed/],
  ];
  for (const [what, path, reason] of rows)
    it(what, async (t) => {
      const { orchestrator, worker } = await relayFleet(t, { neo: { script: spending(1) } });
      const result = await orchestrator.result(await send(orchestrator, { path }));
      assert.deepEqual(
        [result.status, result.tokensSpent, result.unmet?.map(({ kind }) => kind)],
        ['blocked', 0, ['path']],
      );
      assert.match(result.blockedReason ?? '', reason);
      assert.equal(worker('neo').ledger.list({ pageSize: 1 }).totalSize, 0);
    });

  it('may hold 8 profiles, this one included', async (t) => {
    const { orchestrator } = await relayFleet(t, { neo: { script: spending(1) } });
    assert.equal((await orchestrator.result(await send(orchestrator, { path: names(7) }))).status, 'done');
  });
});

describe('the tokens that a peer reports', () => {
  const claiming =
    (tokens: number): Script =>
    async (_task, { budget }) => {
      await budget.addDelegated(tokens);
      return DONE;
    };

  it('count in full beyond the slice, as an overrun', async (t) => {
    const { orchestrator } = await relayFleet(t, { neo: { script: claiming(5_000) } });
    const result = await orchestrator.result(await send(orchestrator));
    assert.deepEqual(
      [result.status, result.tokensSpent, result.usage?.delegatedTokens, result.usage?.source],
      ['done', 5_000, 5_000, 'reported'],
    );
    assert.match(await orchestrator.metrics(), /fleet_budget_overruns_total\{action="delegated"\} 1/);
  });

  it('cannot distort the account with an absurd figure', async (t) => {
    const { orchestrator } = await relayFleet(t, { neo: { script: claiming(Number.MAX_SAFE_INTEGER) } });
    const result = await orchestrator.result(await send(orchestrator));
    assert.deepEqual([result.status, result.tokensSpent], ['done', 1_000_000_000]);
  });

  it('count for a refusal too, and the next peer gets what is left', async (t) => {
    const agents = { switch: await freePort(), odd: await oddPeer(t), neo: await freePort() };
    const neo = await profile(t, { name: 'neo', agents, script: spending(4), tier: 'opus' });
    await neo.serve();
    const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
    await orchestrator.peers.record(announceOf('odd'), { name: 'odd' });
    await orchestrator.peers.record(neo.gateway.announce(), { name: 'neo' });
    const id = await orchestrator.send(dispatching({ token_budget: 1_000 }));
    const result = await orchestrator.result(id);
    assert.deepEqual(
      result.attempts?.map(({ peer, status, tokensSpent }) => [peer, status, tokensSpent]),
      [
        ['odd', 'blocked', 30],
        ['neo', 'done', 4],
      ],
    );
    assert.deepEqual([result.tokensSpent, result.usage?.delegatedTokens], [34, 34]);
    const { task } = neo.task(neo.runs[0] ?? '').dispatch;
    assert.ok(isJsonObject(task) && task.token_budget === 970);
  });

  it('may leave nothing for the next peer, which is an error that lists the attempts', async (t) => {
    const agents = { switch: await freePort(), odd: await oddPeer(t), neo: await freePort() };
    const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
    for (const name of ['odd', 'neo']) await orchestrator.peers.record(announceOf(name), { name });
    const id = await orchestrator.send(dispatching({ token_budget: 30 }, { routing: { max_attempts: 5 } }));
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.error?.code], ['error', 'budget_exhausted']);
    assert.ok(result.attempts?.some(({ peer, tokensSpent }) => peer === 'odd' && tokensSpent === 30));
    const told = orchestrator.ledger.events(id).map(({ data }) => data);
    assert.ok(
      told.some(
        ({ peer, outcome, tokens_spent }) => peer === 'odd' && outcome === 'refused' && tokens_spent === 30,
      ),
    );
  });
});

/** A peer that refuses every dispatch and reports 30 tokens for it. */
async function oddPeer(t: TestContext): Promise<number> {
  const server = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const taskId = /"task_id":"([^"]+)"/.exec(body)?.[1] ?? '';
    const data = encodeResult({
      type: 'TASK_RESULT',
      protocolVersion: '2.0',
      taskId,
      status: 'blocked',
      tokensSpent: 30,
      nextSteps: [],
      blockedReason: 'no',
      artifacts: { filesChanged: [] },
    });
    const artifacts = [{ artifactId: 'r', name: 'task-result', parts: [{ data }] }];
    const task = { id: 'r-1', contextId: 'c', status: { state: 'TASK_STATE_REJECTED' }, artifacts };
    reply.writeHead(200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}
