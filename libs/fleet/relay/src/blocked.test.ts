import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  DONE,
  dispatching,
  PREFERRED_FIRST,
  type RelayFleet,
  relayFleet,
  type Script,
  spending,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { OnBlocked, Unmet } from '@hermes-fleet/protocol/handshake';
import { type RunOutcome, systemClock } from '@hermes-fleet/protocol/ports';

const POLICIES: readonly OnBlocked[] = ['reroute', 'queue', 'fail'];
const needsMemory = { requirements: { required_mcp: ['memory'] } };

const refusing = (unmet: Unmet): Script => {
  const blocked: RunOutcome = { ...DONE, status: 'blocked', blockedReason: unmet.detail, unmet: [unmet] };
  return async () => blocked;
};
const lacking: Unmet = { kind: 'capability', name: 'x', detail: 'lacks x', transient: false };

interface Row {
  readonly situation: string;
  readonly workers?: Parameters<typeof relayFleet>[1];
  readonly dispatch?: JsonObject;
  /** Before the task is sent. */
  readonly before?: (fleet: RelayFleet) => Promise<void> | void;
  /** After the task began to wait. */
  readonly whileWaiting?: (fleet: RelayFleet) => Promise<void>;
  /** The status and the status of each attempt, by policy. `waits`: the task was queued in between. */
  readonly expect: Readonly<
    Record<OnBlocked, { status: string; waits?: true; attempts: readonly string[]; reason?: RegExp }>
  >;
}

const same = (each: Row['expect']['fail']): Row['expect'] => ({ reroute: each, queue: each, fail: each });

/** The outcome of a task by policy and situation (docs/handshake.md#refusals). */
const TABLE: readonly Row[] = [
  {
    situation: 'what no live peer declares',
    dispatch: { requirements: { required_mcp: ['nope'] } },
    expect: same({ status: 'blocked', attempts: [], reason: /"nope" is not declared by any live peer/ }),
  },
  {
    situation: 'a target that is no peer',
    dispatch: { routing: { target: 'nobody' } },
    expect: same({ status: 'blocked', attempts: [], reason: /target "nobody" is not a peer/ }),
  },
  {
    situation: 'a server that is announced as broken everywhere, and comes back',
    dispatch: needsMemory,
    async before({ worker, hear }) {
      for (const name of ['neo', 'trinity']) {
        worker(name).facts.mcp.memory = 'error';
        await hear(name);
      }
    },
    async whileWaiting({ worker, hear }) {
      worker('trinity').facts.mcp.memory = 'ok';
      await hear('trinity');
    },
    expect: {
      reroute: { status: 'done', waits: true, attempts: ['trinity done'] },
      queue: { status: 'done', waits: true, attempts: ['trinity done'] },
      fail: { status: 'blocked', attempts: [], reason: /MCP server "memory" is not healthy \(error\)/ },
    },
  },
  {
    situation: 'a peer that refuses for the moment, and another that is there',
    before({ worker }) {
      worker('neo').facts.usable = false;
    },
    expect: {
      reroute: { status: 'done', attempts: ['neo blocked', 'trinity done'] },
      queue: { status: 'done', waits: true, attempts: ['neo blocked', 'trinity done'] },
      fail: {
        status: 'blocked',
        attempts: ['neo blocked'],
        reason: /neo: neo cannot work with its repositories/,
      },
    },
  },
  {
    situation: 'all refuse for the moment, and one recovers',
    before({ worker }) {
      for (const name of ['neo', 'trinity']) worker(name).facts.usable = false;
    },
    async whileWaiting({ worker, hear }) {
      await hear('neo');
      worker('neo').facts.usable = true;
      await hear('neo');
    },
    expect: {
      reroute: { status: 'done', waits: true, attempts: ['neo blocked', 'trinity blocked', 'neo done'] },
      queue: { status: 'done', waits: true, attempts: ['neo blocked', 'trinity blocked', 'neo done'] },
      fail: { status: 'blocked', attempts: ['neo blocked'], reason: /cannot work/ },
    },
  },
  {
    situation: 'a peer that refuses for good, and another that is there',
    workers: { ...PREFERRED_FIRST, neo: { script: refusing(lacking), tier: 'sonnet' } },
    expect: {
      reroute: { status: 'done', attempts: ['neo blocked', 'trinity done'] },
      queue: { status: 'done', attempts: ['neo blocked', 'trinity done'] },
      fail: { status: 'blocked', attempts: ['neo blocked'], reason: /neo: lacks x/ },
    },
  },
  {
    situation: 'all refuse for good',
    workers: {
      neo: { script: refusing(lacking), tier: 'sonnet' },
      trinity: { script: refusing(lacking), tier: 'opus' },
    },
    expect: {
      reroute: {
        status: 'blocked',
        attempts: ['neo blocked', 'trinity blocked'],
        reason: /neo: lacks x; trinity: l/,
      },
      queue: {
        status: 'blocked',
        attempts: ['neo blocked', 'trinity blocked'],
        reason: /neo: lacks x; trinity: l/,
      },
      fail: { status: 'blocked', attempts: ['neo blocked'], reason: /neo: lacks x/ },
    },
  },
  {
    situation: 'a peer that is gone, and another that is there',
    before: ({ worker }) => worker('neo').crash(),
    expect: {
      reroute: { status: 'done', attempts: ['neo unreachable', 'trinity done'] },
      queue: { status: 'done', attempts: ['neo unreachable', 'trinity done'] },
      fail: { status: 'blocked', attempts: ['neo unreachable'], reason: /neo: peer "neo" cannot be reached/ },
    },
  },
  {
    situation: 'all are gone, and one comes back',
    async before({ worker }) {
      for (const name of ['neo', 'trinity']) await worker(name).crash();
    },
    async whileWaiting({ worker, hear }) {
      await worker('trinity').restart();
      await hear('trinity');
    },
    expect: {
      reroute: {
        status: 'done',
        waits: true,
        attempts: ['neo unreachable', 'trinity unreachable', 'trinity done'],
      },
      queue: {
        status: 'done',
        waits: true,
        attempts: ['neo unreachable', 'trinity unreachable', 'trinity done'],
      },
      fail: { status: 'blocked', attempts: ['neo unreachable'], reason: /cannot be reached/ },
    },
  },
  {
    situation: 'a named peer that refuses for the moment, and recovers',
    dispatch: { routing: { target: 'neo' } },
    before({ worker }) {
      worker('neo').facts.usable = false;
    },
    async whileWaiting({ worker, hear }) {
      worker('neo').facts.usable = true;
      await hear('neo');
    },
    expect: {
      reroute: { status: 'done', waits: true, attempts: ['neo blocked', 'neo done'] },
      queue: { status: 'done', waits: true, attempts: ['neo blocked', 'neo done'] },
      fail: { status: 'blocked', attempts: ['neo blocked'], reason: /cannot work/ },
    },
  },
];

describe('on_blocked', { concurrency: 3 }, () => {
  for (const row of TABLE)
    for (const policy of POLICIES)
      it(`${policy}: ${row.situation}`, async (t) => {
        const fleet = await relayFleet(t, row.workers ?? PREFERRED_FIRST);
        await row.before?.(fleet);
        const { routing, ...rest } = row.dispatch ?? {};
        const asked = { on_blocked: policy, ...(routing as JsonObject | undefined) };
        const { orchestrator } = fleet;
        const id = await orchestrator.send(dispatching({}, { ...rest, routing: asked }));
        const expected = row.expect[policy];
        if (expected.waits) {
          const { waiting, until } = await orchestrator.event(id, 'queued', 2);
          assert.equal(waiting, true);
          assert.ok(Date.parse(String(until)) > Date.now());
          await row.whileWaiting?.(fleet);
        }
        const result = await orchestrator.result(id);
        assert.equal(result.status, expected.status, JSON.stringify(result));
        const attempts = result.attempts ?? [];
        assert.deepEqual(
          attempts.map(({ peer, status }) => `${peer} ${status}`),
          expected.attempts,
        );
        assert.ok(attempts.every(({ considered }) => (considered?.length ?? 0) === 2));
        const queued = orchestrator.events(id).filter((type) => type === 'queued').length;
        // It is queued again for each further wait.
        if (expected.waits) assert.ok(queued >= 2, `${queued}`);
        else assert.equal(queued, orchestrator.events(id).includes('started') ? 1 : 0);
        if (expected.status === 'blocked') {
          assert.equal(result.tokensSpent, 0);
          assert.match(result.blockedReason ?? '', expected.reason ?? /./);
          assert.ok((result.unmet ?? []).length > 0);
        }
        // A task that is returned after a refusal raises an alert; a task that is blocked at once does not.
        const alerts = orchestrator.events(id).filter((type) => type === 'alert').length;
        assert.equal(alerts, expected.status === 'blocked' && attempts.length > 0 ? 1 : 0);
      });
});

it('a task goes to at most max_attempts peers that refuse it for good', async (t) => {
  const peer = { script: refusing(lacking), tier: 'sonnet' };
  const { orchestrator } = await relayFleet(t, { neo: peer, trinity: peer, morpheus: peer });
  const id = await orchestrator.send(dispatching({}, { routing: { max_attempts: 2 } }));
  const result = await orchestrator.result(id);
  assert.deepEqual([result.status, result.attempts?.length], ['blocked', 2]);
});

it('a peer that refuses again for good does not use up the attempts of a task that waits for a slot at another', async (t) => {
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  const script: Script = async (task, context) => {
    await gate.promise;
    return spending(5)(task, context);
  };
  const { orchestrator, worker, hear } = await relayFleet(t, {
    neo: { script: refusing(lacking) },
    trinity: { script, fleet: { limits: { max_concurrent_tasks: 1 } } },
  });
  await orchestrator.send(dispatching({}, { routing: { target: 'trinity' } }));
  await worker('trinity').firstRun;
  const id = await orchestrator.send(dispatching({}, { routing: { max_attempts: 2 } }));
  const refusals = () => worker('neo').runs.length;
  for (let round = 0; round < 60 && refusals() < 2; round += 1) {
    await hear('neo');
    await systemClock.sleep(100);
  }
  gate.resolve();
  const { status, executedBy, attempts = [] } = await orchestrator.result(id);
  assert.deepEqual([status, executedBy], ['done', 'trinity']);
  assert.deepEqual(
    attempts.map(({ peer, status: each }) => `${peer} ${each}`),
    ['neo blocked', 'neo blocked', 'trinity done'],
  );
});

it('refusals for the moment are no attempts: the task waits for them to pass, as long as it may wait', async (t) => {
  const unmet: Unmet = { kind: 'repo', name: 'main', detail: 'dirty', transient: true };
  const { orchestrator, hear } = await relayFleet(
    t,
    { neo: { script: refusing(unmet) } },
    { fleet: { queue: { max_wait_s: 3 } } },
  );
  const id = await orchestrator.send(dispatching({}, { routing: { max_attempts: 1 } }));
  await orchestrator.event(id, 'queued', 2);
  await hear('neo');
  const result = await orchestrator.result(id);
  assert.equal(result.status, 'blocked');
  assert.match(result.blockedReason ?? '', /dirty; nobody could take it within the 3 s/);
  assert.ok((result.attempts ?? []).length >= 2, JSON.stringify(result.attempts));
  assert.match(await orchestrator.metrics(), /fleet_task_retries_total\{reason="repo"\} [1-9]/);
});
