import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Place } from '@hermes-fleet/workspace/testing';
import { z } from 'zod';
import type { TestRun } from '../../testing/harness.ts';
import { LONG_BRIEF, LONG_TASK_STEPS, longTask } from '../../testing/long-task.ts';
import { asked, type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';
import { summaryIn, type WindowModel } from '../../testing/window-model.ts';
import { runInWindow as run, WINDOW } from '../../testing/window-run.ts';

const spillDir = (place: Place): string => {
  const contexts = join(place.workspaceRoot, 'contexts');
  return join(contexts, readdirSync(contexts)[0] ?? '', 'tree', '.scratch/outputs');
};

/** Compactions, as the caller sees them. */
const compactions = ({ events }: TestRun) =>
  events.flatMap((event) =>
    event.type === 'progress' && 'compaction' in event.data ? [Compaction.parse(event.data.compaction)] : [],
  );

const Compaction = z.strictObject({ stage: z.string(), before_tokens: z.int(), after_tokens: z.int() });

function tokensOf({ budget }: TestRun) {
  const { inputTokens: input, outputTokens: output } = budget.usage();
  return { input, output };
}

const messagesOf = ({ messages }: ChatRequest): string[] =>
  messages.map((message) => JSON.stringify(message));

/** The number of requests whose messages do not begin with all of the request before. */
function brokenPrefixes(requests: readonly ChatRequest[]): number {
  return requests.slice(1).filter((request, index) => {
    const before = messagesOf(requests[index] ?? assert.fail());
    return messagesOf(request).slice(0, before.length).join() !== before.join();
  }).length;
}

function checkPairs(requests: readonly ChatRequest[]): void {
  for (const { messages } of requests) {
    const open: string[] = [];
    for (const message of messages) {
      if (message.role === 'tool') {
        const at = open.indexOf(String(message.tool_call_id));
        assert.notEqual(at, -1, `a result answers no call: ${JSON.stringify(message).slice(0, 200)}`);
        open.splice(at, 1);
      } else assert.deepEqual(open, [], 'a call has no result');
      if (Array.isArray(message.tool_calls))
        for (const call of message.tool_calls as { id: string }[]) open.push(call.id);
    }
  }
}

const withTask = (model: WindowModel): ChatRequest[] =>
  model.stepRequests.filter(({ messages }) =>
    String(messages[1]?.content).startsWith(`<task>\n${LONG_BRIEF}\n</task>`),
  );

const namedFiles = (request: ChatRequest): string[] =>
  [...JSON.stringify(request.messages).matchAll(/\.scratch\/outputs\/([\w.-]+\.txt)/g)].map(
    ([, file = '']) => file,
  );

test('a task of 61 long steps in a window of 32k tokens', async (t) => {
  const { result, model, stages, context, guards, place } = await run(t);

  await t.test('it ends done, no request is above the window, and what was pruned can be read again', () => {
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(result.artifacts.filesChanged.length, 20);
    assert.equal(model.stepRequests.length, LONG_TASK_STEPS + 1);
    assert.deepEqual(model.refused, []);
    assert.ok(model.largest() <= WINDOW, String(model.largest()));
    assert.deepEqual(guards, []);
    assert.equal(withTask(model).length, model.stepRequests.length, 'the task stays word for word');
    checkPairs(model.stepRequests);
    t.diagnostic(`stages: ${stages.join(' ')}, largest request: ${model.largest()}`);
    assert.ok(stages.includes('prune') && stages.includes('summary'), stages.join());
    assert.ok(stages.length <= LONG_TASK_STEPS / 6, 'in large batches');
    const seen = compactions(context);
    assert.deepEqual(
      seen.map(({ stage }) => stage),
      stages,
    );
    for (const { before_tokens: before, after_tokens: after } of seen) assert.ok(after < before);
    assert.equal(
      brokenPrefixes(model.stepRequests),
      stages.length,
      'a prompt cache survives between compactions',
    );
    const named = new Set(model.stepRequests.flatMap(namedFiles));
    assert.ok(named.size > 3, String(named.size));
    const texts = [...named].map((file) => readFileSync(join(spillDir(place), file), 'utf8'));
    assert.ok(texts.some((text) => text.includes('module 3 reports line 60 of its run')));
  });

  await t.test('a summary takes the place of what it stands for, and is asked for once', () => {
    const summaries = stages.filter((stage) => stage === 'summary').length;
    assert.equal(model.summaryRequests.length, summaries);
    for (const request of model.summaryRequests) {
      assert.equal(request.tool_choice, 'none');
      assert.ok(request.max_tokens <= WINDOW / 16, String(request.max_tokens));
      assert.match(asked(request), /^Summarize the conversation so far\..*## Goal\n/s);
    }
    const [first] = model.summaryRequests;
    const before = model.stepRequests.filter((request) => summaryIn(request) === undefined);
    assert.ok(first !== undefined && before.length > 10);
    const prefix = messagesOf(first).slice(0, -1);
    assert.ok(
      messagesOf(before.at(-1) ?? assert.fail())
        .join()
        .startsWith(prefix.join()) || stages.includes('prune'),
      'the request for a summary begins as the step before it',
    );
    const after = model.stepRequests.slice(before.length);
    const texts = after.map((request) => summaryIn(request));
    assert.deepEqual(
      [...new Set(texts)],
      texts.filter((text, index) => text !== texts[index - 1]),
    );
    assert.match(texts[0] ?? '', /Summary number 1\.$/);
    const [system, joined, next] = after[0]?.messages ?? [];
    assert.deepEqual([system?.role, joined?.role, next?.role], ['system', 'user', 'assistant']);
    assert.match(
      String(joined?.content),
      /<\/task>\n\nSummary of the conversation so far\..*written so far, as recorded: src\/m1\.sh, /s,
    );
    assert.deepEqual(tokensOf(context), model.billed, 'the budget counts them');
  });
});

/** A task of 25 long steps, and a window in which it is summarized. */
const SHORT = { step: longTask(8).step, window: WINDOW / 2 };

/** Ways in which there is no summary, and how often one is tried. */
const NO_SUMMARY: readonly [what: string, reply: Reply, tries: number][] = [
  ['is empty', { deltas: [], finish: 'stop' }, 3],
  ['is refused by the provider', { status: 400, body: '{"error":{"message":"no"}}' }, 3],
  ['is a call', use([['read_file', { path: 'src/m1.sh' }]]), 3],
];

for (const [what, reply, tries] of NO_SUMMARY)
  test(`a summary that ${what} is replaced by more pruning, and is not asked for without end`, async (t) => {
    const { result, model, stages } = await run(t, { ...SHORT, summary: () => reply });
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.ok(model.summaryRequests.length > 0 && model.summaryRequests.length <= tries);
    assert.ok(!stages.includes('summary') && stages.includes('prune'), stages.join());
    assert.deepEqual(model.refused, []);
    checkPairs(model.stepRequests);
  });

test('a summary that is longer than allowed is cut', async (t) => {
  const { result, model } = await run(t, { ...SHORT, summary: () => say('and so on '.repeat(5000)) });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(model.refused, []);
  const [text = ''] = model.stepRequests.flatMap((request) => summaryIn(request) ?? []);
  assert.ok(text.length > 1000 && text.length < 12 * (SHORT.window / 16), String(text.length));
});
