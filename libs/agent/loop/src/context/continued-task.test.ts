import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { env, KEYED, type Reply } from '../../testing/scripted-server.ts';
import { type ModelStep, requestTokens, windowModel } from '../../testing/window-model.ts';
import { WINDOW } from '../../testing/window-run.ts';
import { taskMessage } from '../messages/task-message.ts';

const step = (count: number): ModelStep =>
  count === 1 ? [['shell_exec', { command: 'echo hi > x.txt; cat x.txt' }]] : 'Done: x.txt has hi.';

/** Earlier tasks of the context, each with so many answers of about 1,000 tokens. */
const earlierTasks = (tasks: number, answers: number): JsonObject[] =>
  Array.from({ length: tasks }, (_, at) => [
    { role: 'user', content: taskMessage(`Part ${at}`) },
    ...Array.from({ length: answers }, () => ({
      role: 'assistant',
      content: `note ${at} of this part `.repeat(165),
    })),
  ]).flat();

/** Runs a task that continues these messages. */
async function runContinued(
  t: Parameters<typeof windowModel>[0],
  messages: readonly JsonObject[],
  options: { readonly window?: number; readonly limits?: object; readonly summary?: () => Reply } = {},
) {
  const { window = WINDOW, limits = {}, summary } = options;
  const model = await windowModel(t, { window, step, ...(summary && { summary }) });
  const config = { ...KEYED, base_url: model.url, context_window: window, limits };
  const agent = await makeAgent(t, config, { env, place: makePlace(t) });
  const earlier = { messages, isWhole: true, result: { status: 'done' } };
  const result = await agent.executor.run(makeTask('Write x.txt with hi.'), makeContext({ earlier }));
  return { result, model };
}

const NO_SUMMARY = (): Reply => ({ deltas: [], finish: 'stop' });

for (const [what, messages, summary] of [
  ['many tasks', earlierTasks(60, 1), undefined],
  ['one task of many answers', earlierTasks(1, 60), undefined],
  ['many tasks, and gives no summary', earlierTasks(60, 1), NO_SUMMARY],
  ['an answer that alone is too long', earlierTasks(1, 1).map(longer), NO_SUMMARY],
] as const)
  test(`a task does its work after a conversation of twice the window, of ${what}`, async (t) => {
    const { result, model } = await runContinued(t, messages, summary && { summary });
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.deepEqual([result.artifacts.filesChanged, model.refused.length], [['x.txt'], 0]);
    const { messages: sent } = model.stepRequests[0] ?? assert.fail();
    assert.equal(sent[1]?.role, 'user', 'what comes first is a message of the user');
  });

function longer(message: JsonObject): JsonObject {
  const { role, content } = message;
  return role === 'assistant' ? { role, content: String(content).repeat(60) } : message;
}

test('limits.max_input_tokens bounds the call for a summary', async (t) => {
  const limits = { max_input_tokens: 20_000 };
  const { result, model } = await runContinued(t, earlierTasks(60, 1), { window: 200_000, limits });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.ok(model.summaryRequests.length > 0);
  for (const request of model.summaryRequests) assert.ok((await requestTokens(request)) <= 20_000);
});
