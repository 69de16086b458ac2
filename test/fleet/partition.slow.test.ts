import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { type Line, openLine } from '../support/line.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { untilSeen } from '../support/peers-view.ts';
import { freeOffset } from '../support/ports.ts';
import { call, resultOf } from '../support/rpc.ts';
import { resultWhenEnded, sendCommand } from '../support/sent-tasks.ts';

const PARTITION_MS = 65_000;
const WORKS_S = 20;

interface World {
  readonly orchestrator: LoneProfile;
  readonly worker: LoneProfile;
  /** The connections that the orchestrator opens to the worker. */
  readonly toWorker: Line;
  /** The connections that the worker opens to the orchestrator. */
  readonly toOrchestrator: Line;
}

/** An orchestrator and one worker, with a line of its own for each direction. */
async function startWorld(t: TestContext, peerDownAfterS: number): Promise<World> {
  const ports = { switch: 9219 + (await freeOffset()), neo: 9219 + (await freeOffset()) };
  const toWorker = await openLine(t, ports.neo);
  const toOrchestrator = await openLine(t, ports.switch);
  const urls = {
    switch: `http://127.0.0.1:${toOrchestrator.port}`,
    neo: `http://127.0.0.1:${toWorker.port}`,
  };
  const env = { SWITCH_TO_NEO: `token-${randomUUID()}`, NEO_TO_SWITCH: `token-${randomUUID()}` };
  const start = (name: 'switch' | 'neo', fleet: Record<string, unknown>): Promise<LoneProfile> => {
    const other = name === 'switch' ? 'neo' : 'switch';
    const [out, back] = [`${name}_TO_${other}`.toUpperCase(), `${other}_TO_${name}`.toUpperCase()];
    return startProfile(t, {
      name,
      port: ports[name],
      server: { public_url: urls[name] },
      fleet: { ...fleet, agents: { [other]: { url: urls[other], token_env: out } } },
      callers: { [other]: { token_env: back, scopes: ['announce', 'dispatch', 'read'] } },
      env,
    });
  };
  const worker = await start('neo', { role: 'worker' });
  const orchestrator = await start('switch', {
    role: 'orchestrator',
    orchestrate: true,
    routing: { peer_down_after_s: peerDownAfterS },
  });
  await untilSeen(orchestrator, 'neo', ({ state }) => state === 'live', 'live');
  return { orchestrator, worker, toWorker, toOrchestrator };
}

// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
async function view({ orchestrator }: World, id: string): Promise<any> {
  return (await call(orchestrator, 'GetTask', { id })).body.result;
}

/** How often a worker began a task, and ended one. */
function workerCounts({ worker }: World): { tasks: number; started: number; ended: number } {
  const { events } = readLedgerFile(worker.ledgerFile);
  const count = (...types: string[]): number => events.filter(({ type }) => types.includes(type)).length;
  return {
    tasks: new Set(events.map(({ taskId }) => taskId)).size,
    started: count('started'),
    ended: count('done', 'partial', 'blocked', 'error', 'canceled'),
  };
}

/**
 * Sends a task that runs when the partition begins, one whose dispatch is the last that passes, and one during the
 * partition. Resolves with their ids when the partition has lasted.
 */
async function partition(world: World, lines: readonly Line[]): Promise<string[]> {
  const after = await sendCommand(world.orchestrator, 'after', `sleep ${WORKS_S}; ls`);
  await until(() => workerCounts(world).started === 1, 'the worker to begin');
  const isCut = Promise.withResolvers<void>();
  if (lines.includes(world.toWorker)) {
    world.toWorker.cutAfter('"type":"TASK_DISPATCH"', () => {
      for (const line of lines) line.cut();
      isCut.resolve();
    });
  } else {
    for (const line of lines) line.cut();
    isCut.resolve();
  }
  const during = await sendCommand(world.orchestrator, 'during', 'ls');
  await isCut.promise;
  const begunAt = systemClock.monotonic();
  const before = await sendCommand(world.orchestrator, 'before', 'ls');
  await systemClock.sleep(PARTITION_MS - (systemClock.monotonic() - begunAt));
  return [after, during, before];
}

const PARTITIONS = [
  { what: 'from the orchestrator to the worker', cuts: ['toWorker'] },
  { what: 'from the worker to the orchestrator', cuts: ['toOrchestrator'] },
  { what: 'in both directions', cuts: ['toWorker', 'toOrchestrator'] },
] as const;

test('a partition of more than a minute', { concurrency: true, timeout: 400_000 }, async (t) => {
  const healed = PARTITIONS.map(({ what, cuts }) =>
    t.test(`${what}, shorter than peer_down_after_s: every task is done once`, async (tt) => {
      const world = await startWorld(tt, 300);
      const lines = cuts.map((name) => world[name]);
      const ids = await partition(world, lines);
      for (const line of lines) line.heal();
      for (const id of ids) {
        const result = await resultWhenEnded(world.orchestrator, id);
        assert.deepEqual([result.status, result.executed_by], ['done', 'neo'], JSON.stringify(result));
      }
      assert.deepEqual(workerCounts(world), { tasks: 3, started: 3, ended: 3 });
    }),
  );
  const givenUp = t.test('longer than peer_down_after_s: what was given up is told', async (tt) => {
    const world = await startWorld(tt, 30);
    const ids = await partition(world, [world.toWorker, world.toOrchestrator]);
    for (const id of ids) {
      const { status, error, tokens_spent: spent } = await resultWhenEnded(world.orchestrator, id);
      assert.deepEqual([status, error.code, spent], ['error', 'peer_unreachable', 0]);
    }
    // A loaded worker may have read only a part of the last dispatch.
    const taken = workerCounts(world).tasks;
    for (const line of [world.toWorker, world.toOrchestrator]) line.heal();
    const late = async (id: string) => resultOf(await view(world, id), 'late-result');
    const [after = '', during = '', before = ''] = ids;
    await until(
      async () => (await late(after)) !== undefined,
      'the late result of the task that ran',
      120_000,
    );
    assert.equal((await late(after)).status, 'done');
    if (taken === 2) {
      await until(
        async () => (await late(during)) !== undefined,
        'the late result of the last dispatch',
        120_000,
      );
      assert.equal((await late(during)).status, 'done');
    }
    assert.equal(await late(before), undefined, 'the worker began nothing that was given up');
    assert.deepEqual(workerCounts(world), { tasks: taken, started: taken, ended: taken });
  });
  await Promise.all([...healed, givenUp]);
});
