import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { LONG_BRIEF, longTask } from '../../testing/long-task.ts';
import { env, KEYED, say, scriptedServer } from '../../testing/scripted-server.ts';
import { windowModel } from '../../testing/window-model.ts';

const DOWN = { status: 503, body: '{"error":{"message":"down for a moment"}}' };

const { step, steps } = longTask(5);

/** A long task at a first model of 65,536 tokens that is down once, at step 12, and at a fallback. */
async function runWithFallback(t: Parameters<typeof windowModel>[0], window: number, configured = window) {
  let isDown = true;
  const big = await windowModel(t, {
    window: 65_536,
    step,
    fails: (number) => {
      if (number !== 12 || !isDown) return undefined;
      isDown = false;
      return DOWN;
    },
  });
  const small = await windowModel(t, { window, step });
  const config = {
    ...KEYED,
    base_url: big.url,
    context_window: 65_536,
    model_calls: { patience_s: 30, new_task_patience_s: 0 },
    fallback_models: [{ model: 'openai-compatible/two', base_url: small.url, context_window: configured }],
  };
  const agent = await makeAgent(t, config, { env, place: makePlace(t) });
  const context = makeContext();
  const result = await agent.executor.run(makeTask(LONG_BRIEF), context);
  const learned = context.checkpoints.at(-1)?.context;
  return { result, big, small, learned: isJsonObject(learned) ? learned : assert.fail() };
}

test('a fallback that is too small is not asked, and the first model has its whole patience', async (t) => {
  const { result, small } = await runWithFallback(t, 8192);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual([small.stepRequests.length, small.refused.length], [0, 0]);
});

test('what a fallback refuses as too long says nothing about the first model, which then has its whole patience', async (t) => {
  const { result, big, small, learned } = await runWithFallback(t, 8192, 65_536);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.ok(small.refused.length > 0);
  assert.deepEqual([learned.window, big.refused.length], [undefined, 0]);
  assert.ok(big.stepRequests.length >= steps, String(big.stepRequests.length));
});

test('what a fallback meters says nothing about the first model', async (t) => {
  const [one, two] = await Promise.all([
    scriptedServer(t, () => DOWN),
    scriptedServer(t, () => say('From two.', { prompt_tokens: 4000, completion_tokens: 5 })),
  ]);
  const config = {
    ...KEYED,
    base_url: one.url,
    context_window: 50_000,
    model_calls: { patience_s: 0 },
    fallback_models: [{ model: 'openai-compatible/two', base_url: two.url, context_window: 50_000 }],
  };
  const agent = await makeAgent(t, config, { env });
  const context = makeContext();
  const result = await agent.executor.run(makeTask('Hello?'), context);
  assert.equal(result.text, 'From two.', JSON.stringify(result));
  const learned = context.checkpoints.at(-1)?.context;
  assert.equal(isJsonObject(learned) ? learned.extra : undefined, 0);
});

test('a first model that stays down is called again after a fallback that is too small, once', async (t) => {
  const tooLong = {
    status: 400,
    body: '{"error":{"message":"prompt is too long: 9000 tokens > 8192 maximum"}}',
  };
  const [one, two] = await Promise.all([scriptedServer(t, () => DOWN), scriptedServer(t, () => tooLong)]);
  const config = {
    ...KEYED,
    base_url: one.url,
    context_window: 50_000,
    model_calls: { patience_s: 0 },
    fallback_models: [{ model: 'openai-compatible/two', base_url: two.url, context_window: 50_000 }],
  };
  const agent = await makeAgent(t, config, { env });
  for (const [contextId, calls] of [
    ['c1', [2, 1]],
    ['c2', [3, 2]],
  ] as const) {
    const result = await agent.executor.run(makeTask('Hello?', { contextId }), makeContext());
    assert.match(result.error?.message ?? '', /answered 503/);
    assert.deepEqual([one.requests.length, two.requests.length], calls);
  }
});
