import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { type Fleet, PROFILES, ROOT, runProgram, startFleet, until } from '../support/fleet.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');
const METERED = { input: 700, output: 30 };
/** Its model runs on, also while the model of the others is gone. */
const SOUND = 'trinity';
const OTHERS = ['neo', 'morpheus'] as const;

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
type Body = any;

/** A fleet whose workers use these two servers, probed this often. */
function fleetOf(t: TestContext, shared: ModelServer, own: ModelServer, intervalS: number) {
  const configYaml = (profile: string, shipped: string): string =>
    profile === 'switch'
      ? shipped
      : stringify({
          ...parse(shipped),
          model: 'openai-compatible/scripted',
          base_url: (profile === SOUND ? own : shared).url,
          model_probe: { interval_s: intervalS, timeout_s: 1 },
        });
  return startFleet(t, PROFILES, { configYaml });
}

async function ready(fleet: Fleet, profile: string): Promise<{ status: number; body: Body }> {
  const reply = await fetch(`${fleet.target(profile).url}/ready`);
  return { status: reply.status, body: await reply.json() };
}

const gauge = async (fleet: Fleet, profile: string): Promise<string | undefined> =>
  /^fleet_model_healthy\{model="openai-compatible\/scripted"\} (\d)$/m.exec(
    await fleet.metrics(profile),
  )?.[1];

/** Waits until the profile has measured its model, and switch has heard of it. */
async function untilHealthIs(fleet: Fleet, profile: string, health: string): Promise<void> {
  const { url, token } = fleet.target('switch');
  await until(async () => {
    const reply = await fetch(`${url}/fleet/peers`, { headers: { authorization: `Bearer ${token}` } });
    const { peers }: Body = await reply.json();
    const { announce } = peers.find(({ name }: Body) => name === profile);
    return announce?.model_health === health;
  }, `switch to hear that the model of ${profile} is ${health}`);
}

const task = (options: Body = {}): Record<string, unknown> =>
  dispatch({ brief: 'Tidy up.', ...options, task: { write: false, reply_schema: 'prose', ...options.task } });

async function resultAt(fleet: Fleet, profile: string, sent: Record<string, unknown>): Promise<Body> {
  return resultOf((await call(fleet.target(profile), 'SendMessage', message(sent))).body.result.task);
}

/** The number of tasks that ended at any profile with this status. */
async function ended(fleet: Fleet, status: string): Promise<number> {
  const pages = await Promise.all(fleet.plan.profiles.map(({ name }) => fleet.metrics(name)));
  const sample = new RegExp(`^fleet_tasks_total\\{[^}]*status="${status}"\\} (\\d+)$`, 'gm');
  return pages.flatMap((page) => [...page.matchAll(sample)]).reduce((sum, [, n]) => sum + Number(n), 0);
}

test('a worker whose model is gone says so, and gets no task until the model is back', async (t) => {
  const shared = await startModelServer(t, 'All is tidy.', METERED);
  const own = await startModelServer(t, 'All is tidy.', METERED);
  const fleet = await fleetOf(t, shared, own, 0.5);
  const cli = (...args: string[]) => runProgram(process.execPath, [CLI, ...args, '--dir', fleet.dir]);
  for (const name of [...OTHERS, SOUND]) await untilHealthIs(fleet, name, 'ok');
  assert.equal(await gauge(fleet, 'neo'), '1');

  await shared.stop();
  for (const name of OTHERS) await untilHealthIs(fleet, name, 'error');

  await t.test('it stays ready, and is degraded with the reason', async () => {
    const { status, body } = await ready(fleet, 'neo');
    assert.deepEqual([status, body.status, body.ready], [200, 'degraded', true]);
    const detail = 'error: its provider could not be reached (ECONNREFUSED)';
    assert.deepEqual(body.dependencies.model, { state: 'degraded', detail });
    assert.equal((await ready(fleet, SOUND)).body.dependencies.model.state, 'ok');
    assert.deepEqual([await gauge(fleet, 'neo'), await gauge(fleet, SOUND)], ['0', '1']);
  });

  await t.test('routing leaves it out, and says why', async () => {
    const { code, stdout } = await cli('route', '--explain', '--brief', 'Tidy up.');
    assert.equal(code, 0, stdout);
    assert.match(stdout, new RegExp(SOUND));
    assert.match(stdout, /neo.*its model openai-compatible\/scripted is not healthy \(error\)/);
    assert.match((await cli('peers')).stdout, /^neo .*openai-compatible\/scripted, error/m);
  });

  await t.test('three tasks go to the worker that has a model', async () => {
    const results = await Promise.all([1, 2, 3].map(() => resultAt(fleet, 'switch', task())));
    for (const { status, executed_by, attempts } of results) {
      assert.deepEqual([status, executed_by], ['done', SOUND]);
      assert.equal(attempts.length, 1, 'no other worker was asked');
    }
    assert.equal(await ended(fleet, 'error'), 0);
  });

  await t.test('a task for it alone is blocked for now, before a token is spent', async () => {
    const result = await resultAt(fleet, 'neo', task());
    assert.deepEqual([result.status, result.tokens_spent], ['blocked', 0]);
    const [{ kind, name, transient, detail }, ...more] = result.unmet;
    assert.deepEqual([kind, name, transient, more], ['capability', 'model', true, []]);
    assert.match(
      detail,
      /the model openai-compatible\/scripted of neo is not healthy \(its provider could not/,
    );
  });

  await t.test('a task waits while no worker has a model, and is done when one is back', async () => {
    await own.stop();
    await untilHealthIs(fleet, SOUND, 'error');
    const sent = message(task({ taskId: 'patient' }), { returnImmediately: true });
    const { id } = (await call(fleet.target('switch'), 'SendMessage', sent)).body.result.task;
    await until(
      async () => /fleet_queue_depth\{queue="waiting"\} 1/.test(await fleet.metrics('switch')),
      'the task to wait',
    );
    await shared.start();
    const done = await resultAt(fleet, 'switch', task({ taskId: 'patient' }));
    assert.equal(done.status, 'done', JSON.stringify(done));
    const got = await call(fleet.target('switch'), 'GetTask', { id });
    assert.equal(got.body.result.status.state, 'TASK_STATE_COMPLETED');
  });

  for (const name of OTHERS) await untilHealthIs(fleet, name, 'ok');
  assert.deepEqual(
    [(await ready(fleet, 'neo')).body.dependencies.model, await gauge(fleet, 'neo')],
    [{ state: 'ok' }, '1'],
  );
  assert.equal((await resultAt(fleet, 'neo', task())).status, 'done');
});

test('a call that fails counts at once, although the list of models answers', async (t) => {
  const shared = await startModelServer(t, 'All is tidy.', METERED);
  const own = await startModelServer(t, 'All is tidy.', METERED);
  const fleet = await fleetOf(t, shared, own, 3600);
  for (const name of [...OTHERS, SOUND]) await untilHealthIs(fleet, name, 'ok');
  shared.callStatus = 500;

  const failing = call(fleet.target('neo'), 'SendMessage', message(task()));
  await untilHealthIs(fleet, 'neo', 'error');
  const { body } = await ready(fleet, 'neo');
  assert.deepEqual(body.dependencies.model, {
    state: 'degraded',
    detail: 'error: its provider answered 500',
  });
  assert.equal(resultOf((await failing).body.result.task).error.code, 'model_failed');

  const result = await resultAt(
    fleet,
    'switch',
    task({ requirements: { model_tier: { max: 'haiku' } }, routing: { on_blocked: 'fail' } }),
  );
  const ofNeo = result.unmet.filter(({ detail }: Body) => detail.startsWith('neo: '));
  assert.deepEqual([result.status, ofNeo.map(({ name }: Body) => name)], ['blocked', ['model']]);

  shared.callStatus = 200;
  await untilHealthIs(fleet, 'neo', 'ok');
  assert.equal((await resultAt(fleet, 'neo', task())).status, 'done');

  await t.test('tasks that are sent before anybody knows of an outage are done elsewhere', async () => {
    await shared.stop();
    const results = await Promise.all([1, 2, 3].map(() => resultAt(fleet, 'switch', task())));
    assert.deepEqual(
      results.map(({ status, executed_by }) => [status, executed_by]),
      [1, 2, 3].map(() => ['done', SOUND]),
    );
  });
});
