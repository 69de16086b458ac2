import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { POLICY } from '@hermes-fleet/peers/testing';
import { HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { createRelay } from '@hermes-fleet/relay';
import { createMetrics } from '@hermes-fleet/service';
import { createScheduler, Lane } from '@hermes-fleet/tasks';
import { dispatching } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { relayFleet, spending } from '../testing/relay-fleet.ts';
import { CALLER, type Script, untilAborted } from '../testing/scripts.ts';
import type { TestProfile } from '../testing/test-profile.ts';

/** The input and output tokens of a profile's own metering. */
async function metered(of: TestProfile): Promise<number> {
  const samples = (await of.metrics()).matchAll(/^fleet_tokens_spent_total\{.*\} (\d+)$/gm);
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Work that does a part itself and delegates the rest to a peer. */
const delegating =
  (own: number, to: string, worker: () => TestProfile): Script =>
  async (task, context) => {
    await spending(own)(task, context);
    const { name, peers } = worker();
    const relay = createRelay({
      peers,
      clock: systemClock,
      log: silentLog,
      client: createA2AClient({ clock: systemClock, log: silentLog, extensions: [HANDSHAKE_EXTENSION] }),
      metrics: createMetrics({ profile: name, peers: [], callers: [], defaultMetrics: false }),
      policy: { ...POLICY, self: name },
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
    return relay.run({ ...task, dispatch: { ...task.dispatch, routing: { target: to } } }, context);
  };

/** switch delegates to neo (which delegates to trinity), trinity and morpheus. */
async function fleet(t: TestContext) {
  const spent = Promise.withResolvers<void>();
  const made = await relayFleet(t, {
    neo: { script: delegating(10, 'trinity', () => made.worker('neo')) },
    trinity: { script: spending(5) },
    morpheus: {
      async script(task, context) {
        await spending(7)(task, context);
        spent.resolve();
        if (task.dispatch.brief === 'fail') throw new Error('no more');
        return untilAborted(task, context);
      },
    },
  });
  const trinity = await made.worker('trinity').gateway.freshAnnounce();
  await made.worker('neo').peers.record(trinity, { name: 'trinity' });
  return { ...made, morpheusSpent: spent.promise };
}

describe('the tokens of a fleet', () => {
  it("are equal in the results of root tasks and in each profile's own metering, however tasks end", async (t) => {
    const { orchestrator, worker, morpheusSpent } = await fleet(t);
    const members = [orchestrator, ...['neo', 'trinity', 'morpheus'].map(worker)];
    const send = (target: string, brief: string) =>
      orchestrator.send(
        dispatching({ token_budget: 1_000 }, { brief, routing: { target, on_blocked: 'fail' } }),
      );
    const canceled = await send('morpheus', 'hang');
    await morpheusSpent;
    await orchestrator.gateway.cancel(canceled, CALLER);
    const roots = [
      await orchestrator.result(canceled),
      await orchestrator.result(await send('neo', 'go on')),
      await orchestrator.result(await send('trinity', 'do it')),
      await orchestrator.result(await send('morpheus', 'fail')),
      await orchestrator.result(await send('nobody', 'do it')),
      await worker('trinity').result(await worker('trinity').send(dispatching())),
    ];
    assert.deepEqual(
      roots.map(({ status, tokensSpent, usage }) => [status, tokensSpent, usage?.delegatedTokens ?? 0]),
      [
        ['error', 7, 7],
        ['done', 15, 15],
        ['done', 5, 5],
        ['error', 7, 7],
        ['blocked', 0, 0],
        ['done', 5, 0],
      ],
    );
    const own = await Promise.all(members.map(metered));
    assert.deepEqual(own, [0, 10, 15, 14]);
    const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);
    assert.equal(total(roots.map(({ tokensSpent }) => tokensSpent)), total(own));
  });

  it('include cache tokens only when that is configured', async (t) => {
    const script: Script = async (task, context) => {
      const call = await context.budget.reserve({ inputTokens: 30, maxOutputTokens: 10 });
      const cache = { cacheReadTokens: 900, cacheWriteTokens: 70 };
      await call.settle({ inputTokens: 30, outputTokens: 5, ...cache, source: 'metered' });
      return spending(0)(task, context);
    };
    for (const [countCache, tokens] of [
      [false, 35],
      [true, 1_005],
    ] as const) {
      const neo = await profile(t, { script, countCache });
      const { tokensSpent, usage } = await neo.result(await neo.send(dispatching()));
      assert.deepEqual([tokensSpent, usage?.cacheReadTokens, usage?.cacheWriteTokens], [tokens, 900, 70]);
    }
  });
});
