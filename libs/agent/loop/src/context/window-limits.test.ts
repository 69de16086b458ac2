import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { longTask } from '../../testing/long-task.ts';
import { env, KEYED, scriptedServer } from '../../testing/scripted-server.ts';
import { requestTokens } from '../../testing/window-model.ts';
import { runInWindow, WINDOW } from '../../testing/window-run.ts';

/** A task of 25 long steps. */
const { step } = longTask(8);

test('a provider whose window is smaller than configured leads to a shorter conversation, at no cost', async (t) => {
  const { result, model, stages, context } = await runInWindow(t, {
    step,
    window: 16_000,
    configured: 64_000,
  });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.ok(model.refused.length > 0 && model.refused.length <= 3, String(model.refused.length));
  assert.ok(stages.length > 0);
  const { inputTokens: input, outputTokens: output } = context.budget.usage();
  assert.deepEqual({ input, output }, model.billed);
});

test('limits.max_input_tokens bounds the input of every step', async (t) => {
  const { result, model } = await runInWindow(t, {
    step,
    window: 200_000,
    limits: { max_input_tokens: 12_000 },
  });
  assert.equal(result.status, 'done', JSON.stringify(result));
  for (const request of model.stepRequests) {
    const tokens = await requestTokens(request);
    assert.ok(tokens <= 12_000, String(tokens));
  }
});

test('limits.compact_at decides when', async (t) => {
  const { model } = await runInWindow(t, { step, limits: { compact_at: 0.4 } });
  assert.ok(model.largest() < WINDOW);
  for (const request of model.stepRequests)
    assert.ok((await requestTokens(request)) <= 0.5 * WINDOW, 'a little above the limit within one step');
});

test('an error names the figures that the provider stated', async (t) => {
  const message =
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";
  const body = JSON.stringify({ error: { message } });
  const server = await scriptedServer(t, () => ({ status: 400, body }));
  const config = { ...KEYED, base_url: server.url, context_window: 128_000 };
  const agent = await makeAgent(t, config, { env });
  const { error } = await agent.executor.run(makeTask('Do it.'), makeContext());
  assert.match(
    error?.message ?? '',
    /context window of 8192 tokens: with the prompt and the tools it takes about 9000 tokens/,
  );
});
