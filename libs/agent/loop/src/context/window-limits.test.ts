import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTask } from '../../testing/long-task.ts';
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
