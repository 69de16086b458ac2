import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { NOTES, notesOf, withNotes } from '../support/breakable.ts';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { type SeenPeer, untilSeen } from '../support/peers-view.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

interface Result {
  readonly status: string;
  readonly tokens_spent: number;
  readonly executed_by: string;
  readonly blocked_reason: string | null;
  readonly attempts?: readonly { readonly peer: string; readonly status: string }[];
}

/** Sends work that needs the server to switch, and does not wait for it. */
async function begin(
  fleet: Fleet,
  routing: Record<string, unknown> = {},
  deadline?: string,
): Promise<string> {
  const taskId = randomUUID();
  const sent = dispatch({
    taskId,
    brief: runbook(`${taskId}.txt`, 'noted', `cat ${taskId}.txt`),
    // The smallest tier is preferred: neo, while it can.
    task: { priority: 'low' },
    requirements: { required_mcp: [NOTES] },
    routing: { target: 'auto', ...routing },
    ...(deadline === undefined ? {} : { deadline }),
  });
  const params = message(sent, { returnImmediately: true });
  const { body } = await call(fleet.target('switch'), 'SendMessage', params);
  return body.result.task.id;
}

async function end(fleet: Fleet, id: string): Promise<Result> {
  let found: Result | undefined;
  const ended = async (): Promise<boolean> => {
    const { body } = await call(fleet.target('switch'), 'GetTask', { id });
    found = resultOf(body.result);
    return found !== undefined;
  };
  await until(ended, `the task ${id} to end`, 120_000);
  return found ?? assert.fail('no result');
}

/** Tokens that the fleet has spent, by its own meters. */
async function spent(fleet: Fleet): Promise<number> {
  const pages = await Promise.all(fleet.plan.profiles.map(({ name }) => fleet.metrics(name)));
  return pages
    .flatMap((page) => [...page.matchAll(/^fleet_tokens_spent_total\{[^}]*\} (\d+)$/gm)])
    .reduce((sum, [, tokens]) => sum + Number(tokens), 0);
}

const waiting = async (fleet: Fleet): Promise<number> =>
  Number(/^fleet_queue_depth\{queue="waiting"\} (\d+)$/m.exec(await fleet.metrics('switch'))?.[1] ?? 0);

/** How often each task was given to somebody, as switch's ledger has it. */
function delegations(fleet: Fleet, id: string): number {
  const { events } = readLedgerFile(join(fleet.dir, 'state/switch/ledger.db'));
  return events.filter(({ taskId, type }) => taskId === id && type === 'delegated').length;
}

test('a server dies: work goes elsewhere, or waits without a token, and runs when the server is back', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo', 'trinity'], {
    mcpServers: ['memory'],
    configYaml: (profile, shipped) => (['neo', 'trinity'].includes(profile) ? withNotes(shipped) : shipped),
  });
  const [neo, trinity] = [notesOf(fleet, 'neo'), notesOf(fleet, 'trinity')];
  await Promise.all([neo.measured(true), trinity.measured(true)]);
  const isUp = ({ announce }: SeenPeer): boolean => announce?.mcp_health[NOTES] === 'ok';
  for (const name of ['neo', 'trinity'])
    await untilSeen(fleet.target('switch'), name, isUp, `with ${NOTES} up`);

  await t.test('while it is up, the preferred worker does the work', async () => {
    const result = await end(fleet, await begin(fleet));
    assert.deepEqual([result.status, result.executed_by], ['done', 'neo'], JSON.stringify(result));
    assert.ok(result.tokens_spent > 0);
  });

  await t.test('when it is down there, another worker does it', async () => {
    neo.break();
    await neo.measured(false);
    const result = await end(fleet, await begin(fleet));
    assert.deepEqual([result.status, result.executed_by], ['done', 'trinity'], JSON.stringify(result));
  });

  let queued: string[] = [];
  await t.test('when it is nowhere up, work waits, and costs nothing', async () => {
    trinity.break();
    await trinity.measured(false);
    const before = await spent(fleet);
    const failed = await end(fleet, await begin(fleet, { on_blocked: 'fail' }));
    assert.deepEqual([failed.status, failed.tokens_spent], ['blocked', 0]);
    assert.match(failed.blocked_reason ?? '', /"notes" is not healthy/);
    queued = [await begin(fleet), await begin(fleet, { on_blocked: 'queue' }), await begin(fleet)];
    await until(async () => (await waiting(fleet)) === 3, 'three tasks to wait');
    assert.equal(await spent(fleet), before);
  });

  await t.test('when switch is stopped meanwhile, they go on waiting', async () => {
    await fleet.terminate('switch');
    await fleet.up();
    await until(async () => (await waiting(fleet)) === 3, 'the three tasks to wait again');
  });

  await t.test('when it is back, they run', async () => {
    neo.repair();
    const results = await Promise.all(queued.map((id) => end(fleet, id)));
    for (const result of results) {
      assert.deepEqual([result.status, result.executed_by], ['done', 'neo'], JSON.stringify(result));
      assert.ok(result.tokens_spent > 0);
    }
    assert.equal(await waiting(fleet), 0);
  });

  await t.test(
    'while its health flaps, a task is sent out a few times only, spends nothing, and runs when it is back',
    async () => {
      neo.break();
      await neo.measured(false);
      const before = await spent(fleet);
      const deadline = new Date(Date.now() + 120_000).toISOString();
      const ids = [await begin(fleet, {}, deadline), await begin(fleet, {}, deadline)];
      const over = Promise.race(ids.map((id) => end(fleet, id)));
      await until(async () => (await waiting(fleet)) === 2, 'two tasks to wait');
      for (let i = 0; i < 2; i += 1) {
        neo.repair();
        await Promise.race([neo.measured(true), over]);
        neo.break();
        await Promise.race([neo.measured(false), over]);
      }
      neo.repair();
      const results = await Promise.all(ids.map((id) => end(fleet, id)));
      for (const [at, result] of results.entries()) {
        const refused = (result.attempts ?? []).filter(({ status }) => status === 'blocked');
        assert.ok(refused.length <= 3, JSON.stringify(result));
        assert.ok(delegations(fleet, ids[at] ?? '') <= 4, JSON.stringify(result));
        // Handed back by the third refusal, it has spent nothing; else it waits for the server, and never for its deadline.
        if (result.status !== 'done')
          assert.deepEqual([refused.length, result.tokens_spent], [3, 0], JSON.stringify(result));
      }
      const reported = results.reduce((sum, { tokens_spent }) => sum + tokens_spent, 0);
      assert.equal((await spent(fleet)) - before, reported);
    },
  );
});
