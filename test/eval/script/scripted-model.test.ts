import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { after, calls, failing, read, type Script, says, sh } from './script.ts';
import { startScriptedModel } from './scripted-model.ts';

const SCRIPT: Script = {
  turns: [[calls(read('a.txt')), says('It says hello.', /hello/)], [says('Still hello.')]],
  delegated: { 'Look into it.': [says('I looked.')] },
};
const BRIEFS = ['Read a.txt.', 'And now?'];

const Chunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      delta: z.looseObject({
        content: z.string().optional(),
        tool_calls: z
          .array(z.object({ function: z.object({ name: z.string(), arguments: z.string() }) }).loose())
          .optional(),
      }),
      finish_reason: z.string().nullish(),
    }),
  ),
  usage: z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int() }).nullish(),
});

async function model(t: TestContext, script: Script = SCRIPT, window?: number) {
  const played = await startScriptedModel({ script, messages: BRIEFS, window });
  t.after(() => played[Symbol.asyncDispose]());
  const tools = ['read_file', 'shell_exec'].map((name) => ({ type: 'function', function: { name } }));
  /** Sends messages, given as role and content. Resolves with the answer's text, calls, finish reason and usage. */
  async function ask(messages: readonly (readonly [role: string, content: string])[], more: object = {}) {
    const response = await fetch(`${played.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({
        ...{ model: 'scripted', max_tokens: 100, tools, ...more },
        messages: messages.map(([role, content]) => ({ role, content })),
      }),
    });
    const body = await response.text();
    const chunks = body
      .split('\n\n')
      .flatMap((line) => (/^data: \{/.test(line) ? [Chunk.parse(JSON.parse(line.slice(6)))] : []));
    const choices = chunks.flatMap((chunk) => chunk.choices);
    return {
      status: response.status,
      body,
      text: choices.map(({ delta }) => delta.content ?? '').join(''),
      called: choices.flatMap(({ delta }) => delta.tool_calls ?? []).map((one) => one.function),
      finish: choices.find(({ finish_reason: reason }) => reason)?.finish_reason,
      usage: chunks.find(({ usage }) => usage)?.usage,
    };
  }
  return { ...played, ask };
}

const BRIEF = ['user', '<task>\nRead a.txt.\n</task>'] as const;
const RESULT = ['tool', 'hello'] as const;
const ended = (tool: string, ok: boolean): RunEvent => ({
  type: 'progress',
  data: { tool, phase: 'ended', ok },
});

test('it plays its steps in order, reports usage, and lists its window', async (t) => {
  const { url, ask, problemsOf } = await model(t, SCRIPT, 9_000);
  const models = await (await fetch(`${url}/models`)).text();
  assert.equal(JSON.parse(models).data[0].max_model_len, 9_000);
  const first = await ask([BRIEF]);
  assert.deepEqual(
    [first.called, first.finish],
    [[{ name: 'read_file', arguments: '{"path":"a.txt"}' }], 'tool_calls'],
  );
  const second = await ask([BRIEF, RESULT]);
  assert.deepEqual([second.text, second.finish], ['It says hello.', 'stop']);
  assert.ok((second.usage?.prompt_tokens ?? 0) > (first.usage?.prompt_tokens ?? 0));
  assert.deepEqual(problemsOf(0, []), []);
  assert.equal((await ask([BRIEF, RESULT, ['user', '<task>\nAnd now?\n</task>']])).text, 'Still hello.');
  assert.equal((await ask([['user', '<task>\nLook into it.\n</task>']])).text, 'I looked.');
  assert.deepEqual(problemsOf(1, []), []);
});

test('prompts of the loop get an answer, and do not use up the script', async (t) => {
  const { ask, problemsOf } = await model(t);
  const off = { tool_choice: 'none' };
  assert.match(
    (await ask([BRIEF, ['user', 'Summarize the conversation.']], off)).text,
    /^Goal: .*\nDecisions: /,
  );
  const early = await ask([BRIEF, ['user', 'Wrap up now.']], { tools: [] });
  assert.match(early.text, /```outcome\n\{"status":"partial","remaining":\["2 steps of the script"\]\}/);
  const review = await ask([['system', 'You are the second, independent check of a task.'], BRIEF]);
  assert.match(review.text, /```review\n\{"verdict":"ok"/);
  await ask([BRIEF]);
  await ask([BRIEF, RESULT]);
  for (const more of [{}, off])
    assert.equal((await ask([BRIEF, RESULT, ['user', 'Not verified yet.']], more)).text, 'It says hello.');
  assert.deepEqual(problemsOf(0, []), []);
});

test('what does not go as the script says is a problem', async (t) => {
  const { ask, problemsOf } = await model(t);
  await ask([BRIEF], { tools: [{ type: 'function', function: { name: 'shell_exec' } }] });
  await ask([BRIEF, ['tool', 'nothing']]);
  await ask([BRIEF, RESULT]);
  await ask([['user', '<task>\nSomething else.\n</task>']]);
  assert.deepEqual(problemsOf(0, []), [
    'step 1 of turn 1 calls read_file, which is not offered; there are shell_exec',
    'step 2 of turn 1: no message matches /hello/',
    'the script of turn 1 has only 2 steps: tool: "hello"',
    'a request belongs to no turn of the script: user: "<task>\\nSomething else.\\n</task>"',
  ]);
  assert.deepEqual(problemsOf(1, []), [
    '1 steps of turn 2 were not played',
    '1 steps of "Look into it." were not played',
  ]);
});

test('a request that is longer than the window is refused as by vLLM, and is a problem', async (t) => {
  const { ask, problemsOf } = await model(t, SCRIPT, 5_000);
  const { status, body } = await ask([BRIEF, ['tool', 'word '.repeat(5_000)]]);
  assert.equal(status, 400);
  assert.match(
    JSON.parse(body).message,
    /^This model's maximum context length is 5000 tokens\. However, you requested 5\d{3} /,
  );
  assert.match(
    problemsOf(0, []).join('\n'),
    /^a request has 5\d{3} tokens and asks for 100, of 5000\n2 steps of turn 1/,
  );
});

test('calls fail as often as the script says', async (t) => {
  const script = { turns: [[calls(failing(sh('false')), sh('true')), says('x')], [says('y')]] };
  for (const [events, problems] of [
    [[ended('shell_exec', false), ended('shell_exec', true)], []],
    [[ended('shell_exec', true)], ['shell_exec failed 0 times, and the script expects 1']],
    [
      [ended('shell_exec', false), ended('shell_exec', false), ended('read_file', false)],
      [
        'shell_exec failed 2 times, and the script expects 1',
        'read_file failed 1 times, and the script expects 0',
      ],
    ],
  ] as const) {
    const { ask, problemsOf } = await model(t, script);
    await ask([BRIEF]);
    await ask([BRIEF, RESULT]);
    assert.deepEqual(problemsOf(0, events), problems);
  }
});

test('a cut answer ends in the middle of its call', async (t) => {
  const cut = { ...after([], read('a-long-name.txt')), cutAfter: 12 };
  const { ask, problemsOf } = await model(t, { turns: [[cut, says('x')], [says('y')]] });
  const { called, finish } = await ask([BRIEF]);
  assert.deepEqual([called[0]?.arguments, finish], ['{"path":"a-l', 'length']);
  await ask([BRIEF, RESULT]);
  assert.deepEqual(problemsOf(0, [ended('read_file', false)]), []);
});
