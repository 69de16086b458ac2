import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { HANDSHAKE_EXTENSION, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { freePort } from '../testing/free-port.ts';
import { dispatching } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { DONE, type Script, untilAborted } from '../testing/scripts.ts';
import type { ProfileOptions, TestProfile } from '../testing/test-profile.ts';
import { handshakeIn, rpc } from '../testing/wire.ts';

/** An orchestrator and its workers on real ports, which know each other's announces. */
async function fleet(
  t: TestContext,
  workers: Record<string, Pick<ProfileOptions, 'script' | 'tier'>>,
  policy: JsonObject = {},
) {
  const names = ['switch', ...Object.keys(workers)];
  const agents: Record<string, number> = {};
  for (const name of names) agents[name] = await freePort();
  const made = new Map<string, TestProfile>();
  for (const [name, worker] of Object.entries(workers)) {
    const each = await profile(t, { name, agents, ...worker });
    each.facts.mcp.trek = 'ok';
    await each.serve();
    made.set(name, each);
  }
  const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true, ...policy } });
  await orchestrator.serve();
  for (const member of [orchestrator, ...made.values()]) member.announcer.start();
  for (const name of made.keys()) await orchestrator.heard(name);
  for (const worker of made.values()) await worker.heard('switch');
  return { orchestrator, worker: (name: string) => made.get(name) ?? assert.fail(`no ${name}`) };
}

const spending =
  (tokens: number): Script =>
  async (_task, { budget }) => {
    const call = await budget.reserve({ inputTokens: tokens - 2, maxOutputTokens: 10 });
    await call.settle({ inputTokens: tokens - 2, outputTokens: 2, source: 'metered' });
    return DONE;
  };

/** Two workers; routing prefers neo. */
const NEO_FIRST = {
  neo: { script: spending(10), tier: 'sonnet' },
  trinity: { script: spending(10), tier: 'opus' },
};

const asking = (on_blocked?: string): JsonObject => ({
  requirements: { required_mcp: ['trek'] },
  routing: { target: 'auto', ...(on_blocked === undefined ? {} : { on_blocked }) },
});

describe('Open question 1: when is SESSION_ANNOUNCE emitted', () => {
  it('at start, to every configured peer, which answers with its own', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: {}, trinity: {} });
    for (const name of ['neo', 'trinity']) {
      assert.equal(orchestrator.peers.get(name)?.announce?.worker.agentId, name);
      assert.equal(worker(name).peers.get('switch')?.announce?.worker.agentId, 'switch');
    }
  });

  it('in the reply to the first task of every new context, and not in the next reply', async (t) => {
    const neo = await profile(t);
    await neo.serve();
    const send = async (contextId: string): Promise<JsonObject> => {
      const message = {
        messageId: `m-${contextId}`,
        role: 'ROLE_USER',
        parts: [{ text: 'hello' }],
        contextId,
      };
      const { result } = await rpc(neo, 'SendMessage', { message });
      assert.ok(isJsonObject(result) && isJsonObject(result.task));
      return isJsonObject(result.task.metadata) ? result.task.metadata : {};
    };
    for (const context of ['a', 'b']) {
      const announce = (await send(context))[HANDSHAKE_EXTENSION];
      assert.equal(handshakeIn(announce, 'SESSION_ANNOUNCE').type, 'SESSION_ANNOUNCE');
      assert.ok(isJsonObject(announce) && isJsonObject(announce.session));
      assert.equal(announce.session.context_id, context);
      assert.equal(HANDSHAKE_EXTENSION in (await send(context)), false);
    }
  });

  it('when something that routing reads changes', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: {} });
    const neo = worker('neo');
    const heard = Promise.withResolvers<void>();
    const dirty = () => orchestrator.peers.get('neo')?.announce?.session.repoState.clean === false;
    using _listening = orchestrator.peers.onChange(() => dirty() && heard.resolve());
    neo.facts.clean = false;
    neo.announcer.changed();
    await heard.promise;
    const id = await orchestrator.send(dispatching({ write: true }, { routing: { on_blocked: 'fail' } }));
    assert.deepEqual(
      (await orchestrator.result(id)).unmet?.map(({ kind }) => kind),
      ['repo'],
    );
  });
});

describe('Open question 2: what becomes of a blocked task', () => {
  for (const [what, on_blocked, policy, asked] of [
    ['nothing, and nothing is configured: the next peer is asked', undefined, {}, ['neo', 'trinity']],
    ['reroute: the next peer is asked', 'reroute', { routing: { on_blocked: 'fail' } }, ['neo', 'trinity']],
    ['fail: it goes back to its caller', 'fail', {}, ['neo']],
    [
      'nothing, and fail is configured: it goes back',
      undefined,
      { routing: { on_blocked: 'fail' } },
      ['neo'],
    ],
  ] as const)
    it(`the dispatch says ${what}`, async (t) => {
      const { orchestrator, worker } = await fleet(t, NEO_FIRST, policy);
      worker('neo').facts.mcp.trek = 'timeout';
      const id = await orchestrator.send(dispatching({}, asking(on_blocked)));
      const result = await orchestrator.result(id);
      assert.deepEqual(
        result.attempts?.map(({ peer }) => peer),
        asked,
      );
      const back = asked.length === 1;
      assert.deepEqual([result.status, result.tokensSpent], back ? ['blocked', 0] : ['done', 10]);
      assert.equal(orchestrator.events(id).includes('alert'), back);
      assert.equal(orchestrator.events(id).includes('rerouted'), !back);
      const explained = result.attempts?.[0]?.considered?.map(({ peer, verdict }) => [peer, verdict]);
      assert.deepEqual(explained, [
        ['neo', 'chosen'],
        ['trinity', 'eligible'],
      ]);
      const counted = back
        ? 'fleet_task_admissions_total{profile="switch",decision="blocked",reason="mcp"} 1'
        : 'fleet_task_reroutes_total{from="neo",to="trinity",reason="mcp"} 1';
      assert.ok((await orchestrator.metrics()).includes(`${counted}\n`), counted);
      if (!back) return;
      assert.match(
        result.blockedReason ?? '',
        /neo: required MCP server "trek" is not healthy \(timeout after 1000 ms\)/,
      );
      assert.equal((await orchestrator.event(id, 'alert')).reason, 'handed_back');
    });

  it('queue: it waits, at no cost, until an announce makes a peer eligible, and runs under the same task ID', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: { script: spending(10) } });
    const neo = worker('neo');
    neo.facts.mcp.trek = 'timeout';
    const id = await orchestrator.send(dispatching({ task_id: 'patient' }, asking('queue')));
    const waiting = await orchestrator.event(id, 'queued', 2);
    assert.deepEqual([waiting.waiting, waiting.unmet], [true, ['mcp']]);
    assert.deepEqual(neo.runs, []);
    neo.facts.mcp.trek = 'ok';
    neo.announcer.changed();
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.taskId, result.tokensSpent], ['done', 'patient', 10]);
    assert.equal(neo.runs.length, 1);
    assert.ok(neo.ledger.list({ pageSize: 100 }).tasks.every(({ key }) => key === id));
  });

  for (const on_blocked of ['reroute', 'queue', 'fail'])
    it(`${on_blocked}: what no live peer declares is blocked at once`, async (t) => {
      const { orchestrator, worker } = await fleet(t, { neo: {} });
      const data = { ...asking(on_blocked), requirements: { required_mcp: ['nope'] } };
      const id = await orchestrator.send(dispatching({}, data));
      assert.equal(orchestrator.task(id).state, 'rejected');
      assert.match(
        (await orchestrator.result(id)).blockedReason ?? '',
        /"nope" is not declared by any live peer/,
      );
      assert.equal(worker('neo').ledger.list({ pageSize: 1 }).totalSize, 0);
    });
});

describe('Open question 3: what tokens_spent counts', () => {
  const boasting: Script = async (task, context) => ({
    ...(await spending(42)(task, context)),
    tokensSpent: 1_000_000,
    usage: { inputTokens: 1_000_000, source: 'metered' },
    text: 'tokens_spent: 1000000',
  });

  it("metered tokens, input plus output, never the model's own figure", async (t) => {
    const neo = await profile(t, { script: boasting });
    const { tokensSpent, usage } = await neo.result(await neo.send(dispatching()));
    assert.equal(tokensSpent, 42);
    assert.deepEqual(
      [usage?.inputTokens, usage?.outputTokens, usage?.source, usage?.model],
      [40, 2, 'metered', 'scripted'],
    );
  });

  it('no tokens read from or written to a cache, which are reported apart', async (t) => {
    const neo = await profile(t, {
      script: async (_task, { budget }) => {
        const call = await budget.reserve({ inputTokens: 30, maxOutputTokens: 10 });
        const cache = { cacheReadTokens: 900, cacheWriteTokens: 70 };
        await call.settle({ inputTokens: 30, outputTokens: 5, ...cache, source: 'metered' });
        return DONE;
      },
    });
    const { tokensSpent, usage } = await neo.result(await neo.send(dispatching()));
    assert.deepEqual([tokensSpent, usage?.cacheReadTokens, usage?.cacheWriteTokens], [35, 900, 70]);
  });

  it('an estimate, marked as one, when nothing was metered', async (t) => {
    const neo = await profile(t, {
      script: async (_task, { budget }) => {
        const call = await budget.reserve({ inputTokens: 30, maxOutputTokens: 10 });
        await call.settle({ inputTokens: 30, outputTokens: 5, source: 'estimated' });
        return DONE;
      },
    });
    const { tokensSpent, usage } = await neo.result(await neo.send(dispatching()));
    assert.deepEqual([tokensSpent, usage?.source], [35, 'estimated']);
  });

  it('tokens that peers report, apart from own tokens: an inflated figure on the path changes nothing', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: { script: boasting } });
    const id = await orchestrator.send(dispatching({}, { routing: { target: 'neo' } }));
    const { tokensSpent, usage, attempts } = await orchestrator.result(id);
    assert.deepEqual(
      [tokensSpent, usage?.inputTokens, usage?.outputTokens, usage?.delegatedTokens],
      [42, 0, 0, 42],
    );
    assert.equal(attempts?.[0]?.tokensSpent, 42);
    const own = async (of: TestProfile): Promise<number> =>
      [...(await of.metrics()).matchAll(/^fleet_tokens_spent_total\{.*\} (\d+)$/gm)].reduce(
        (sum, [, value]) => sum + Number(value),
        0,
      );
    assert.deepEqual([await own(orchestrator), await own(worker('neo'))], [0, 42]);
  });

  it('the tokens that a canceled task had spent', async (t) => {
    const spent = Promise.withResolvers<void>();
    const neo = await profile(t, {
      script: async (task, context) => {
        await spending(42)(task, context);
        spent.resolve();
        return untilAborted(task, context);
      },
    });
    const id = await neo.send(dispatching());
    await spent.promise;
    await neo.gateway.cancel(id, { name: 'operator', scopes: new Set(['dispatch']) });
    const { tokensSpent, error } = await neo.result(id);
    assert.deepEqual([tokensSpent, error?.code], [42, 'canceled']);
  });
});

describe('Open question 4: how versions are negotiated', () => {
  it('the same major version is compatible: a newer minor version is understood, with its unknown fields', async (t) => {
    const neo = await profile(t);
    const id = await neo.send(
      dispatching({ not_yet: 1 }, { protocol_version: '2.9', not_yet: { at: 'all' } }),
    );
    assert.deepEqual([(await neo.result(id)).status, neo.task(id).dispatch.not_yet], ['done', { at: 'all' }]);
  });

  it('without a common major version a dispatch is blocked, with the kind version alone', async (t) => {
    const neo = await profile(t);
    const data = { protocol_version: '3.0', requirements: { required_mcp: ['nope'] } };
    const { status, unmet } = await neo.result(await neo.send(dispatching({}, data)));
    assert.deepEqual([status, unmet?.map(({ kind }) => kind)], ['blocked', ['version']]);
  });

  it('both sides declare their versions, in the announce and in the agent card', async (t) => {
    const neo = await profile(t, { versions: ['2.1', '2.0'] });
    await neo.serve();
    assert.deepEqual(neo.gateway.announce().protocolVersions, ['2.1', '2.0']);
    const card = await fetch(`http://127.0.0.1:${neo.port}/.well-known/agent-card.json`);
    assert.match(
      await card.text(),
      /"uri":"urn:hermes-fleet:handshake:2"[^{]*"params":\{"protocol_versions":\["2\.1","2\.0"\]\}/,
    );
  });

  it('a sender without the handshake uses prose: text is a task like any other', async (t) => {
    const neo = await profile(t, { script: async (task) => ({ ...DONE, text: task.dispatch.brief }) });
    assert.equal((await neo.result(await neo.send({ text: 'hello' }))).text, 'hello');
  });
});
