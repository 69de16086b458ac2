import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { say, use } from '../../testing/scripted-server.ts';

const progressOf = (events: readonly RunEvent[]): JsonObject[] =>
  events.flatMap((event) => (event.type === 'progress' ? [event.data] : []));

const reported = (prompt: number, cached: number, output: number, reasoning: number): object => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

test('each call of the model is in one event, with its tokens and its model', async (t) => {
  const path = 'CANARY.txt';
  const run = await scriptedAgent(t, [
    use([['write_file', { path, content: 'CANARY' }]], reported(1_200, 200, 30, 11)),
    say('CANARY done.', reported(1_300, 300, 20, 0)),
  ]);
  const { context } = await run({ limit: 50_000, brief: 'CANARY brief', task: { priority: 'low' } });
  const told = progressOf(context.events).filter(({ usage }) => usage !== undefined);
  const of = (input: number, output: number, cached: number, reasoning: number): JsonObject => ({
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    cache_write_tokens: 0,
    reasoning_tokens: reasoning,
  });
  assert.deepEqual(
    told.map(({ step, usage, spent_tokens }) => [step, usage, spent_tokens]),
    [
      [1, of(1_000, 30, 200, 11), 1_030],
      [2, of(1_000, 20, 300, 0), 2_050],
    ],
  );
  assert.deepEqual([...new Set(told.map(({ model }) => model))], [context.budget.usage().model]);
  const { inputTokens, outputTokens, reasoningTokens } = context.budget.usage();
  assert.deepEqual([inputTokens, outputTokens, reasoningTokens], [2_000, 50, 11]);
  assert.doesNotMatch(JSON.stringify(progressOf(context.events)), /CANARY/);
});

test('a figure of reasoning that cannot be is left out', async (t) => {
  const run = await scriptedAgent(t, () => say('Done.', reported(1_200, 0, 20, 21)));
  const { context } = await run({ limit: 50_000 });
  assert.equal(context.budget.usage().reasoningTokens, undefined);
  const [told] = progressOf(context.events).filter(({ usage }) => usage !== undefined);
  assert.ok(isJsonObject(told?.usage));
  assert.equal(told.usage.reasoning_tokens, 0);
});

test('each intervention of a guard is an event', async (t) => {
  const run = await scriptedAgent(
    t,
    (turn) => use([['write_file', { path: `${turn}.txt`, content: 'CANARY' }]]),
    { limits: { max_steps: 3 } },
  );
  const { context, guards } = await run({ limit: 100_000 });
  const told = progressOf(context.events).filter(({ guard }) => guard !== undefined);
  assert.deepEqual(
    told.map(({ guard, level }) => `${guard} ${level}`),
    guards,
  );
  assert.ok(guards.includes('steps wrap_up'), guards.join());
  for (const { spent_tokens, budget_tokens } of told) {
    assert.ok(Number(spent_tokens) > 0);
    assert.equal(budget_tokens, 100_000);
  }
});
