import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePort } from '../testing/free-port.ts';
import { dispatching, inbound } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { relayFleet } from '../testing/relay-fleet.ts';
import { CALLER } from '../testing/scripts.ts';
import type { TestProfile } from '../testing/test-profile.ts';

const NONE = { tier: 'none', fleet: { role: 'trader' } };

const unmetOf = async (at: TestProfile, id: string) => {
  const { status, tokensSpent, unmet = [] } = await at.result(id);
  return { status, tokensSpent, unmet: unmet.map(({ kind, detail }) => `${kind}: ${detail}`) };
};

describe('a gateway that runs no model', () => {
  const refused = {
    status: 'blocked',
    tokensSpent: 0,
    unmet: ['capability: trader takes no tasks: send a CONTROL_DECISION (apply_control_decision)'],
  };

  it('blocks every task for that one reason, whatever else is unmet, and runs nothing', async (t) => {
    const trader = await profile(t, { name: 'trader', ...NONE });
    const wanting = dispatching(
      { token_budget: 1, write: true },
      {
        brief: 'words '.repeat(5_000),
        requirements: { required_mcp: ['nope'], required_capabilities: ['fly'], model_tier: { min: 'opus' } },
        deadline: '2020-01-01T00:00:00Z',
      },
    );
    const nobody = { name: 'operator', scopes: new Set<string>() };
    for (const [message, caller] of [
      [dispatching(), CALLER],
      [wanting, CALLER],
      [{ text: 'buy low, sell high' }, CALLER],
      [dispatching(), nobody],
    ] as const)
      assert.deepEqual(await unmetOf(trader, await trader.send(message, caller)), refused);
    assert.deepEqual(trader.runs, []);
    const metrics = await trader.metrics();
    assert.match(
      metrics,
      /fleet_task_admissions_total\{profile="trader",decision="blocked",reason="capability"\} 4/,
    );
    assert.doesNotMatch(metrics, /^fleet_tokens_spent_total\{.*\} [1-9]/m);
  });

  it('relays none either, even when it is configured to orchestrate', async (t) => {
    const agents = { trader: await freePort(), neo: await freePort() };
    const trader = await profile(t, {
      name: 'trader',
      agents,
      tier: 'none',
      fleet: { role: 'trader', orchestrate: true },
    });
    const neo = await profile(t, { name: 'neo', agents });
    await neo.serve();
    trader.announcer.start();
    await trader.heard('neo');
    for (const target of ['neo', 'auto', 'trader']) {
      const id = await trader.send(dispatching({}, { routing: { target } }));
      assert.deepEqual(await unmetOf(trader, id), refused, target);
      const wire = dispatching({}, { routing: { target } }).data?.[0]?.data;
      const { chosen, unmet } = await trader.gateway.explain(Object(wire));
      assert.deepEqual([chosen, unmet.map(({ kind }) => kind)], [undefined, ['capability']], target);
    }
    assert.deepEqual(neo.runs, []);
  });

  it('answers handshake messages like every gateway', async (t) => {
    const trader = await profile(t, { name: 'trader', ...NONE });
    const greeted = await trader.gateway.accept(
      inbound({ contextId: 'handshake:x', text: 'who are you?' }),
      CALLER,
    );
    assert.ok(greeted.kind === 'reply');
    assert.match(greeted.text ?? '', /^role=trader profile=trader ready/);
    const { worker, role } = trader.gateway.announce();
    assert.deepEqual([worker.modelTier, role], ['none', 'trader']);
  });
});

describe('an orchestrator with a trader among its peers', () => {
  it('never routes to it by itself, and says why', async (t) => {
    const { orchestrator, worker } = await relayFleet(t, { trader: NONE, neo: {} });
    const id = await orchestrator.send(dispatching());
    assert.equal((await orchestrator.result(id)).executedBy, 'neo');
    const { considered } = await orchestrator.gateway.explain(Object(dispatching().data?.[0]?.data));
    const [detail] = considered.filter(({ peer }) => peer === 'trader');
    const reasons = ['takes no tasks: send it a CONTROL_DECISION'];
    assert.deepEqual(detail, { peer: 'trader', verdict: 'excluded', reasons, score: 0 });
    await worker('neo').end();
    const next = await orchestrator.send(
      dispatching({}, { routing: { on_blocked: 'fail' }, requirements: { required_capabilities: ['fly'] } }),
    );
    assert.equal((await orchestrator.result(next)).status, 'blocked');
    assert.equal(worker('trader').ledger.list({ pageSize: 1 }).totalSize, 0);
  });

  it('blocks a task that names it, with the reason and without asking it', async (t) => {
    const { orchestrator, worker } = await relayFleet(t, { trader: NONE, neo: {} });
    const requirements = { required_mcp: ['nope'], min_context_window: 10 };
    const id = await orchestrator.send(dispatching({}, { routing: { target: 'trader' }, requirements }));
    assert.deepEqual(await unmetOf(orchestrator, id), {
      status: 'blocked',
      tokensSpent: 0,
      unmet: ['capability: trader: takes no tasks: send it a CONTROL_DECISION'],
    });
    assert.equal(worker('trader').ledger.list({ pageSize: 1 }).totalSize, 0);
  });
});
