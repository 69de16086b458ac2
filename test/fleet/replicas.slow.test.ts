import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { initKeys } from '@hermes-fleet/cli';
import type { CloudEvent } from '@hermes-fleet/protocol';
import { PROFILES, readEvents, startFleet, until } from '../support/fleet.ts';
import { seenPeers, untilSeen } from '../support/peers-view.ts';
import { replica } from '../support/replica.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from '../support/rpc.ts';
import { SHIPPED_SERVICES } from '../support/shipped.ts';

const NAMES = ['neo-1', 'neo-2', 'neo-3'];
const isEnd = ({ type }: CloudEvent): boolean =>
  /\.task\.(done|partial|error|blocked|canceled)\.v1$/.test(type);

const small = (taskId: string, target: string, ...commands: string[]) =>
  dispatch({
    taskId,
    brief: runbook('done.txt', taskId, 'cat done.txt', ...commands),
    task: { token_budget: 20_000 },
    routing: { target, on_blocked: 'queue' },
  });

async function send(to: Target, data: Record<string, unknown>) {
  const { body } = await call(to, 'SendMessage', message(data));
  return resultOf(body.result.task);
}

test('three processes of one profile folder are three peers, and each gets work', async (t) => {
  const fleet = await startFleet(t, PROFILES, {
    onPlanned: ({ keysDir }) =>
      void initKeys({
        dir: keysDir,
        services: SHIPPED_SERVICES,
        replicas: new Map([['neo', NAMES.length]]),
        nats: { storeDir: '/unused', host: '127.0.0.1', port: 4222, syncAlways: false },
      }),
  });
  const operator = fleet.target('switch');
  const replicas = NAMES.map((name) => replica(fleet, { profile: 'neo', name, env: { DRAIN_S: '60' } }));
  t.after(() => Promise.all(replicas.map((each) => each.end('SIGKILL'))));
  await Promise.all(replicas.map((each) => each.start()));
  for (const { name, url } of replicas)
    await untilSeen(
      operator,
      name,
      ({ standing, state, endpoint }) =>
        standing === 'joined' && state === 'live' && endpoint === `${url()}/jsonrpc`,
      'as joined, at its own address',
    );

  await t.test(
    'each has an identity of its own: card, ledger, metrics, events by a user of its own',
    async () => {
      for (const { name, url } of replicas) {
        const card = await (await fetch(`${url()}/.well-known/agent-card.json`)).json();
        assert.equal((card as { name: string }).name, name);
        const result = await send(operator, small(`for-${name}`, name));
        assert.deepEqual([result.status, result.executed_by], ['done', name], JSON.stringify(result));
        const metrics = await (await fetch(`${url()}/metrics`)).text();
        assert.match(metrics, new RegExp(`fleet_tasks_total\\{profile="${name}",[^}]*status="done"\\} 1`));
      }
      const events = await readEvents(fleet, (found) =>
        NAMES.every((name) => found.some((event) => event.source === `/profiles/${name}` && isEnd(event))),
      );
      for (const name of NAMES)
        assert.equal(
          events.filter((event) => event.source === `/profiles/${name}` && isEnd(event)).length,
          1,
        );
    },
  );

  await t.test('work for anybody is shared between the profile and its replicas', async () => {
    const seen = new Set<string>();
    for (let round = 0; NAMES.some((name) => !seen.has(name)); round += 1) {
      assert.ok(round < 10, `only ${[...seen].join(', ')} got work`);
      const tasks = Array.from({ length: 8 }, (_, at) => ({
        ...small(`any-${round}-${at}`, 'auto'),
        requirements: { model_tier: { min: 'haiku', max: 'haiku' } },
      }));
      const results = await Promise.all(tasks.map((task) => send(operator, task)));
      for (const result of results) {
        assert.equal(result.status, 'done', JSON.stringify(result));
        seen.add(result.executed_by);
      }
    }
  });

  await t.test('killed and started at another address with its state, it goes on with its task', async () => {
    const [, second] = replicas;
    assert.ok(second);
    const before = second.url();
    const running = send(operator, small('interrupted', 'neo-2', 'touch began', 'sleep 2'));
    await until(async () => {
      const metrics = await (await fetch(`${before}/metrics`)).text();
      return /^fleet_tasks_in_flight 1$/m.test(metrics);
    }, 'the task to run at neo-2');
    await second.end('SIGKILL');
    await second.start();
    assert.notEqual(second.url(), before);
    const result = await running;
    assert.ok(['done', 'partial'].includes(result.status), JSON.stringify(result));
    assert.equal(result.executed_by, 'neo-2');
    assert.deepEqual(
      (await seenPeers(operator)).filter(({ name }) => name === 'neo-2').map(({ endpoint }) => endpoint),
      [`${second.url()}/jsonrpc`],
    );
  });

  await t.test('told to stop, it finishes what it has, and gets no more', async () => {
    const [first] = replicas;
    assert.ok(first);
    const running = send(operator, small('last', 'neo-1', 'touch began', 'sleep 4'));
    await until(async () => {
      const metrics = await (await fetch(`${first.url()}/metrics`)).text();
      return /^fleet_tasks_in_flight 1$/m.test(metrics);
    }, 'the task to run at neo-1');
    const ended = first.end('SIGTERM');
    await untilSeen(operator, 'neo-1', ({ announce }) => announce?.ready === false, 'as leaving');
    const refused = { ...small('late', 'neo-1'), routing: { target: 'neo-1', on_blocked: 'fail' } };
    const late = await send(operator, refused);
    assert.deepEqual([late.status, late.tokens_spent], ['blocked', 0], JSON.stringify(late));
    const result = await running;
    assert.deepEqual([result.status, result.executed_by], ['done', 'neo-1'], JSON.stringify(result));
    await ended;
    assert.equal(first.exitCode(), 0);
  });

  await t.test('a state belongs to one name', async () => {
    const [, , third] = replicas;
    assert.ok(third);
    await third.end('SIGTERM');
    const thief = replica(fleet, {
      profile: 'neo',
      name: 'neo-1',
      stateDir: join(fleet.dir, 'state', 'neo-3'),
    });
    await assert.rejects(thief.start(), /belongs to profile neo-3, not neo-1/);
  });

  await t.test('every member believes the announces that come with the token of the replicas', () => {
    for (const profile of ['morpheus', 'trinity'])
      assert.doesNotMatch(fleet.log(profile), /announce not believed/, profile);
    for (const { log } of replicas) assert.doesNotMatch(log(), /does not believe our announce/);
  });
});
