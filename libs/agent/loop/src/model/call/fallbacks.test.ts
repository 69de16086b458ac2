import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { makeAgent, makeContext, makeTask } from '../../../testing/harness.ts';
import { startProvider } from '../../../testing/provider.ts';
import { env, type Reply, say, scriptedServer } from '../../../testing/scripted-server.ts';
import { AgentConfigSchema } from '../../config/config-yaml.ts';
import { createModelMonitors } from '../probe/model-monitor.ts';
import { probedModel } from '../probe/probe-model.ts';

const USAGE = { prompt_tokens: 900, completion_tokens: 5 };
const refused = (status: number): Reply => ({ status, body: '{"error":{"message":"not here"}}' });

/** An agent with two models; `later` moves its clock. */
async function twoModels(t: TestContext, first: () => Reply, other: object = {}) {
  const [one, two] = await Promise.all([
    scriptedServer(t, first),
    scriptedServer(t, () => say('From two.', USAGE)),
  ]);
  let offset = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + offset };
  const agent = await makeAgent(
    t,
    {
      model: 'openai-compatible/one',
      base_url: one.url,
      context_window: 50_000,
      fallback_models: [
        { model: 'openai-compatible/two', base_url: two.url, context_window: 20_000, ...other },
      ],
      model_calls: { patience_s: 0 },
    },
    { env, clock },
  );
  let tasks = 0;
  return {
    agent,
    calls: () => [one.requests.length, two.requests.length],
    later: (ms: number) => {
      offset += ms;
    },
    async run(brief = 'Hello?') {
      tasks += 1;
      const context = makeContext({ limit: 100_000 });
      const result = await agent.executor.run(makeTask(brief, { contextId: `c${tasks}` }), context);
      return { result, context };
    },
  };
}

it('another model answers when the first one cannot be called, and the first is tried again after a pause', async (t) => {
  let isAway = true;
  const { agent, calls, later, run } = await twoModels(t, () =>
    isAway ? refused(401) : say('From one.', USAGE),
  );
  assert.equal(agent.executor.model.contextWindow, 50_000);
  const { result, context } = await run();
  assert.deepEqual([result.status, result.text], ['done', 'From two.'], JSON.stringify(result));
  assert.deepEqual([context.budget.usage().model, context.budget.spent()], ['openai-compatible/two', 905]);
  const told = context.events.flatMap((event) =>
    event.type === 'progress' && isJsonObject(event.data.fallback) ? [event.data.fallback] : [],
  );
  assert.deepEqual(told, [{ from: 'openai-compatible/one', to: 'openai-compatible/two' }]);
  assert.equal(agent.executor.model.contextWindow, 50_000, 'the window stays that of the first model');
  isAway = false;
  assert.equal((await run()).result.text, 'From two.');
  assert.deepEqual(calls(), [1, 2], 'the first one is left alone for a while');
  later(60_000);
  assert.equal((await run()).result.text, 'From one.');
});

it('a provider that is down leads to the next model, and a request that is wrong does not', async (t) => {
  for (const status of [402, 404, 429, 503]) {
    const { run } = await twoModels(t, () => refused(status));
    assert.equal((await run()).result.text, 'From two.', `${status}`);
  }
  for (const status of [400, 413, 422]) {
    const { run, calls } = await twoModels(t, () => refused(status));
    assert.match((await run()).result.error?.message ?? '', /not here/);
    assert.deepEqual(calls(), [1, 0], `${status}`);
  }
});

it('a fallback whose window is too small is passed over, and the error is that of the first model', async (t) => {
  const { run, calls } = await twoModels(t, () => refused(401), { context_window: 1_000 });
  const { result } = await run('word '.repeat(3_000));
  assert.match(result.error?.message ?? '', /answered 401/);
  assert.deepEqual(calls(), [1, 0]);
});

it('config.yaml names a fallback by its name or with its own keys, and the first one keeps its own', () => {
  const parse = (config: object) => AgentConfigSchema.safeParse(config);
  const problems = (config: object) =>
    parse(config).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  assert.deepEqual(
    parse({ model: 'openai/a', fallback_models: ['claude-x'] }).data?.fallback_models[0]?.model,
    'claude-x',
  );
  assert.match(
    problems({ model: 'openai/a', fallback_models: ['b'] })?.[0] ?? '',
    /^fallback_models\.0\.model: "b" names/,
  );
});

it('a model with a fallback is healthy while one of the two is', { timeout: 20_000 }, async (t) => {
  const [one, two] = await Promise.all([startProvider(t), startProvider(t)]);
  const monitor = createModelMonitors({
    config: AgentConfigSchema.parse({
      model: 'openai-compatible/one',
      base_url: `${one.url}/v1`,
      fallback_models: [{ model: 'openai-compatible/two', base_url: `${two.url}/v1` }],
      model_probe: { interval_s: 3600, down_after: 1 },
    }),
    probed: (config) => probedModel(config, env),
    clock: systemClock,
    log: recordingLog(),
  });
  t.after(() => monitor.close());
  const measured = async () => (await monitor.probe({ maxAgeMs: 0, timeoutMs: 5_000 })).state;
  assert.equal(await measured(), 'ok');
  let changes = 0;
  monitor.onChange(() => {
    changes += 1;
  });
  one.answers = () => 503;
  assert.deepEqual([await measured(), monitor.health().state, changes > 0], ['ok', 'ok', true]);
  two.answers = () => 503;
  assert.deepEqual([await measured(), monitor.health().state], ['error', 'error']);
});
