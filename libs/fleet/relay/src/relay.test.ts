import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  relayFleet as fleet,
  freePort,
  PREFERRED_FIRST,
  profile,
  type Script,
  spending,
  type TestProfile,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

const dispatchOf = (worker: TestProfile, id: string): JsonObject => worker.task(id).dispatch;

describe('the relay', () => {
  it("delegates under its own ID and the same contract, and returns the result under the caller's ID", async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: { script: spending(70) } });
    const deadline = new Date(Date.now() + 60_000).toISOString();
    const message = dispatching({ task_id: 'abc', token_budget: 4_000, colour: 'red' }, { deadline });
    const id = await orchestrator.send({ ...message, contextId: 'ctx', traceparent: TRACEPARENT });
    const result = await orchestrator.result(id);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(result.taskId, 'abc');
    assert.equal(result.text, 'did do it');
    assert.equal(result.executedBy, 'neo');
    assert.equal(result.tokensSpent, 70);
    assert.equal(result.usage?.delegatedTokens, 70);
    assert.deepEqual(
      result.attempts?.map(({ peer, status, tokensSpent }) => [peer, status, tokensSpent]),
      [['neo', 'done', 70]],
    );
    const neo = worker('neo');
    const [remote = ''] = neo.runs;
    const { task, routing, deadline: passed } = dispatchOf(neo, remote);
    assert.deepEqual(task, {
      task_id: id,
      token_budget: 4_000,
      conversation: orchestrator.ledger.contexts.conversationName('operator', 'ctx', undefined),
      parent: { task_id: 'abc', profile: 'switch' },
      root_id: 'abc',
      root_caller: 'operator',
      path: ['switch'],
      colour: 'red',
    });
    assert.ok(isJsonObject(routing) && routing.target === 'neo');
    assert.equal(passed, deadline);
    assert.equal(neo.task(remote).contextId, 'ctx');
    assert.match(neo.task(remote).traceparent ?? '', new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`));
    const published = orchestrator.ledger.outbox.read(0, 100).filter(({ event }) => event.subject === id);
    assert.deepEqual([...new Set(published.map(({ event }) => event.traceparent))], [TRACEPARENT]);
    const events = orchestrator.events(id);
    assert.deepEqual(
      events.filter((type) => type !== 'progress'),
      ['submitted', 'queued', 'started', 'delegated', 'done'],
    );
    assert.equal((await orchestrator.event(id, 'delegated')).peer, 'neo');
  });

  it('passes the data and files of a task on with its contract', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: {} });
    const parts: JsonObject[] = [{ data: { order: 7 } }, { data: [1], mediaType: 'application/json' }];
    const [dispatch] = dispatching({ task_id: 'abc' }).data ?? [];
    const sent = { data: dispatch?.data ?? null };
    const raw = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'for people' }, sent, ...parts] };
    const id = await orchestrator.send({ data: dispatch ? [dispatch] : [], raw });
    assert.equal((await orchestrator.result(id)).status, 'done');
    const neo = worker('neo');
    const { message } = neo.task(neo.runs[0] ?? '');
    assert.deepEqual(Array.isArray(message.parts) && message.parts.slice(1), parts);
  });

  it('blocks at once what no peer declares, whatever on_blocked says, and asks no peer', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: {}, trinity: {} });
    for (const on_blocked of ['reroute', 'queue', 'fail']) {
      const id = await orchestrator.send(
        dispatching(
          {},
          { requirements: { required_mcp: ['nope'] }, routing: { target: 'auto', on_blocked } },
        ),
      );
      const result = await orchestrator.result(id);
      assert.deepEqual([result.status, result.tokensSpent], ['blocked', 0]);
      assert.match(result.blockedReason ?? '', /"nope" is not declared by any live peer \(neo, trinity\)/);
      assert.deepEqual(orchestrator.events(id), ['submitted', 'blocked']);
    }
    assert.equal(worker('neo').ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('goes to the next peer after a refusal, and reports it', async (t) => {
    const { orchestrator, worker } = await fleet(t, PREFERRED_FIRST);
    worker('neo').facts.usable = false;
    const id = await orchestrator.send(dispatching());
    const result = await orchestrator.result(id);
    assert.deepEqual(
      result.attempts?.map(({ peer, status }) => [peer, status]),
      [
        ['neo', 'blocked'],
        ['trinity', 'done'],
      ],
    );
    assert.equal(result.executedBy, 'trinity');
    const { from, to, reason } = await orchestrator.event(id, 'rerouted');
    assert.deepEqual([from, to, reason], ['neo', 'trinity', 'repo']);
    assert.match(
      await orchestrator.metrics(),
      /fleet_task_reroutes_total\{from="neo",to="trinity",reason="repo"\} 1/,
    );
  });

  it('returns the refusals with an alert when no peer is left', async (t) => {
    const { orchestrator, worker } = await fleet(
      t,
      { neo: {}, trinity: {} },
      { fleet: { queue: { max_wait_s: 1 } } },
    );
    for (const name of ['neo', 'trinity']) worker(name).facts.usable = false;
    const all = await orchestrator.send(dispatching());
    const blocked = await orchestrator.result(all);
    assert.deepEqual([blocked.status, blocked.tokensSpent, blocked.attempts?.length], ['blocked', 0, 2]);
    assert.match(blocked.blockedReason ?? '', /neo: neo cannot work with its repositories/);
    assert.match(blocked.blockedReason ?? '', /trinity: trinity cannot work with its repositories/);
    // An alert of the long wait may come before.
    const alerts = orchestrator.events(all).filter((type) => type === 'alert').length;
    assert.equal((await orchestrator.event(all, 'alert', alerts)).reason, 'handed_back');
  });

  it('keeps a bounded part of a long refusal', async (t) => {
    const long = 'x'.repeat(10_000);
    const unmet = { kind: 'repo' as const, name: long, detail: long, transient: true };
    const blocked = { ...DONE, status: 'blocked' as const, blockedReason: long };
    const { orchestrator } = await fleet(t, {
      neo: { script: async () => ({ ...blocked, unmet: Array.from({ length: 100 }, () => unmet) }) },
    });
    const id = await orchestrator.send(dispatching({}, { routing: { on_blocked: 'fail' } }));
    const result = await orchestrator.result(id);
    assert.equal(result.status, 'blocked');
    assert.equal(result.unmet?.length, 50);
    assert.ok(JSON.stringify(result).length < 100_000);
  });

  it('goes from an unreachable peer to the next one', async (t) => {
    const { orchestrator, worker } = await fleet(t, PREFERRED_FIRST);
    await worker('neo').crash();
    const result = await orchestrator.result(await orchestrator.send(dispatching()));
    assert.deepEqual(
      result.attempts?.map(({ peer, status }) => [peer, status]),
      [
        ['neo', 'unreachable'],
        ['trinity', 'done'],
      ],
    );
    await worker('neo').restart();
  });

  it("passes a peer's errors and partial results on unchanged", async (t) => {
    const outcomes = [
      { ...DONE, status: 'error' as const, error: { code: 'model_failed', message: 'm', retryable: true } },
      { ...DONE, status: 'partial' as const, remaining: ['rest'] },
    ];
    const { orchestrator } = await fleet(t, { neo: { script: async () => outcomes.shift() ?? DONE } });
    const error = await orchestrator.result(await orchestrator.send(dispatching()));
    assert.deepEqual([error.status, error.error?.code], ['error', 'model_failed']);
    const partial = await orchestrator.result(await orchestrator.send(dispatching()));
    assert.deepEqual([partial.status, partial.remaining], ['partial', ['rest']]);
  });

  it('cancels the work at the peer, and counts the tokens spent there', async (t) => {
    const { orchestrator, worker } = await fleet(t, {
      neo: {
        script: async (task, context) => {
          await spending(9)(task, context);
          await context.reportEvent({ type: 'progress', data: {} });
          return untilAborted(task, context);
        },
      },
    });
    const id = await orchestrator.send(dispatching());
    await orchestrator.event(id, 'progress');
    const neo = worker('neo');
    await neo.firstRun;
    const [remote = ''] = neo.runs;
    await neo.event(remote, 'progress');
    await orchestrator.gateway.cancel(id, CALLER);
    const result = await orchestrator.result(id);
    assert.equal(orchestrator.task(id).state, 'canceled');
    assert.deepEqual([result.error?.code, result.tokensSpent], ['canceled', 9]);
    assert.equal(neo.task(remote).state, 'canceled');
  });
});

it('a peer whose card lacks the handshake gets the contract as text only', async (t) => {
  const texts: string[] = [];
  const agent = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { params } = JSON.parse(body);
    texts.push(params.message.parts[0].text);
    const message = { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'tidied up' }] };
    reply.writeHead(200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { message } }));
  });
  const agents = { switch: await freePort(), stock: await freePort() };
  await new Promise<void>((resolve) => agent.listen(agents.stock, '127.0.0.1', resolve));
  t.after(() => {
    agent.closeAllConnections();
    agent.close();
  });
  const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
  orchestrator.peers.recordCard('stock', { handshake: false, versions: [] });
  const id = await orchestrator.send(
    dispatching({ token_budget: 700 }, { brief: 'tidy up', routing: { target: 'stock' } }),
  );
  const result = await orchestrator.result(id);
  assert.deepEqual([result.status, result.text, result.executedBy], ['done', 'tidied up', 'stock']);
  assert.equal(texts.length, 1);
  assert.match(texts[0] ?? '', /^TASK DISPATCH \(inline\)\n/);
  assert.match(texts[0] ?? '', new RegExp(`task_id: "?${id}`));
  assert.match(texts[0] ?? '', /token_budget: 700\n[\s\S]*Brief: tidy up/);
});

it('tasks that arrive together are spread over the peers, the preferred tier first', async (t) => {
  const gate = Promise.withResolvers<void>();
  const held: Script = async () => {
    await gate.promise;
    return DONE;
  };
  const { orchestrator, worker } = await fleet(t, {
    neo: { script: held, tier: 'haiku' },
    morpheus: { script: held, tier: 'sonnet' },
    trinity: { script: held, tier: 'opus' },
  });
  const together = Array.from({ length: 12 }, (_, i) => orchestrator.send(dispatching({ task_id: `t${i}` })));
  const ids = await Promise.all(together);
  gate.resolve();
  const results = await Promise.all(ids.map((id) => orchestrator.result(id)));
  assert.ok(results.every(({ status }) => status === 'done'));
  const runs = ['neo', 'morpheus', 'trinity'].map((name) => worker(name).runs.length);
  const [haiku = 0, sonnet = 0, opus = 0] = runs;
  assert.equal(haiku + sonnet + opus, 12);
  assert.ok(haiku > 0 && opus > 0, `nobody else got work: ${runs.join()}`);
  assert.ok(sonnet >= haiku && sonnet >= opus, `the preferred tier got less: ${runs.join()}`);
});
