import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/fleet.ts';
import { seenPeers } from '../support/peers-view.ts';
import { call, dispatch, message, type RpcReply, resultOf, runbook, type Target } from '../support/rpc.ts';
import { startSwarmFleet, withoutSwarm } from '../support/swarm.ts';

const CLIENTS = 8;
const JOIN_MS = 180_000;
/** How long a client tries the same call again. */
const PATIENCE_MS = 180_000;
/** Each look starts a program. */
const LOOK_MS = 1_000;

interface Load {
  /** Results by task. */
  readonly results: Map<string, { status: string; executed_by: string | null }>;
  /** Calls that were sent again. */
  retries: number;
  stop(): Promise<void>;
}

/** Clients that follow docs/operations.md: a call without an answer, or with a retryable one, is sent again under the same task_id. */
function startLoad(operator: Target): Load {
  let stopped = false;
  const load: Load = { results: new Map(), retries: 0, stop: async () => undefined };
  const client = async (number: number): Promise<void> => {
    for (let at = 0; !stopped; at += 1) {
      const taskId = `load-${number}-${at}`;
      const data = dispatch({
        taskId,
        brief: runbook('done.txt', taskId, 'sleep 3'),
        task: { token_budget: 20_000 },
        routing: { target: 'auto', on_blocked: 'queue' },
      });
      const task = await sendUntilAnswered(operator, data, () => {
        load.retries += 1;
      });
      load.results.set(taskId, resultOf(task));
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  // A failure is reported when the load is stopped.
  clients.catch(() => undefined);
  return Object.assign(load, {
    stop: async () => {
      stopped = true;
      await clients;
    },
  });
}

async function sendUntilAnswered(to: Target, data: Record<string, unknown>, onRetry: () => void) {
  const giveUpAt = Date.now() + PATIENCE_MS;
  for (;;) {
    const reply = await call(to, 'SendMessage', message(data)).catch((error: Error) => error);
    const task = reply instanceof Error ? undefined : reply.body?.result?.task;
    if (task && resultOf(task)) return task;
    // A gateway that stops answers with the unfinished task: the same call waits for it again.
    const why = reply instanceof Error ? reply.message : JSON.stringify(reply.body);
    assert.ok(reply instanceof Error || task || isRetryable(reply), why);
    assert.ok(Date.now() < giveUpAt, `no answer within ${PATIENCE_MS} ms: ${why}`);
    onRetry();
    await sleep(500);
  }
}

const isRetryable = ({ status, body }: RpcReply): boolean =>
  status === 503 || JSON.stringify(body?.error ?? '').includes('"retryable":"true"');

test('workers on Swarm are scaled, updated and lost under load, and no call and no task is lost', {
  skip: withoutSwarm(),
  timeout: 900_000,
}, async (t) => {
  const fleet = await startSwarmFleet(t, 1);
  const { operator } = fleet;
  const joined = async (names: readonly string[]): Promise<boolean> => {
    const peers = await seenPeers(operator).catch(() => []);
    return names.every((wanted) =>
      peers.some(({ name, standing, state }) => name === wanted && standing === 'joined' && state === 'live'),
    );
  };
  await until(() => joined(['neo-1']), 'the first replica to join', JOIN_MS);
  const load = startLoad(operator);
  const doneBy = (name: string): number =>
    [...load.results.values()].filter(({ executed_by }) => executed_by === name).length;

  const all = [1, 2, 3, 4, 5, 6].map((number) => `neo-${number}`);
  await t.test('from 1 to 6 replicas: each joins and gets work', async () => {
    await fleet.docker('service', 'scale', '--detach', `${fleet.stack}_neo-pool=6`);
    await until(() => joined(all), 'all replicas to join', JOIN_MS);
    await until(() => all.every((name) => doneBy(name) > 0), 'each to have done a task', JOIN_MS);
  });

  await t.test('an update replaces every member, switch included', async () => {
    const before = await Promise.all([1, 6].map(fleet.replicaContainer));
    await fleet.deploy({ image: fleet.images[1], replicas: 6 });
    await Promise.all(['switch', 'neo', 'neo-pool'].map(fleet.untilUpdated));
    for (const [at, number] of [1, 6].entries())
      assert.notEqual(await fleet.replicaContainer(number), before[at]);
    await until(() => joined(all), 'all replicas to be back', JOIN_MS);
  });

  await t.test(
    'a worker whose container is killed comes back with its state, and its tasks end',
    async () => {
      const done = doneBy('neo-2');
      await until(() => doneBy('neo-2') > done, 'neo-2 to work', JOIN_MS);
      const lost = await fleet.replicaContainer(2);
      await fleet.docker('kill', '--signal', 'KILL', lost);
      await until(
        async () => (await fleet.replicaContainer(2).catch(() => lost)) !== lost,
        'a new container',
        JOIN_MS,
        LOOK_MS,
      );
      const after = doneBy('neo-2');
      await until(() => doneBy('neo-2') > after, 'neo-2 to work again', JOIN_MS);
    },
  );

  const partial = (): number =>
    [...load.results.values()].filter(({ status }) => status === 'partial').length;
  const partialBefore = partial();
  await t.test('from 6 replicas to 2: those that go finish their tasks', async () => {
    await fleet.docker('service', 'scale', '--detach', `${fleet.stack}_neo-pool=2`);
    const left = async (): Promise<number> =>
      (await fleet.docker('ps', '--quiet', '--filter', `name=^/?${fleet.stack}_neo-pool\\.`)).split('\n')
        .length;
    await until(async () => (await left()) === 2, 'four replicas to go', JOIN_MS, LOOK_MS);
  });

  await load.stop();
  const statuses = new Map<string, number>();
  for (const { status } of load.results.values()) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  t.diagnostic(
    `${load.results.size} tasks: ${JSON.stringify([...statuses])}; ${load.retries} calls were sent again`,
  );
  // The container that was killed before ran four tasks at most, and four that finish theirs up to sixteen.
  assert.ok(partial() - partialBefore <= 4, 'tasks of the replicas that went are partial');
  // A command that ran when its container was killed is not repeated, and its task ends partial.
  const others = [...load.results].filter(([, { status }]) => status !== 'done' && status !== 'partial');
  // Swarm removes the name of a replica before it tells it to stop: what arrives between the two ends as an error.
  const gone = ['neo-3', 'neo-4', 'neo-5', 'neo-6'];
  const bad = others.filter(
    ([, { status, executed_by: by }]) => status !== 'error' || !gone.includes(by ?? ''),
  );
  assert.deepEqual(bad, [], JSON.stringify(others));
  assert.ok(others.length <= gone.length, JSON.stringify(others));
  assert.ok(
    (statuses.get('partial') ?? 0) <= 16,
    'more tasks are partial than could run in replaced containers',
  );
  assert.ok(load.results.size > 30);
});
