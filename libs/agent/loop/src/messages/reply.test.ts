import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import type { ReplySchema } from '@hermes-fleet/protocol/handshake';
import { block, makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { scriptedAgent, userTexts } from '../../testing/scripted-run.ts';
import { asked, type Reply, say, use } from '../../testing/scripted-server.ts';

const COUNT = {
  type: 'object',
  required: ['count'],
  properties: { count: { type: 'integer', minimum: 0 } },
} satisfies JsonObject;
const claim = (value: object): string => `\n\`\`\`outcome\n${JSON.stringify(value)}\n\`\`\``;
const write = use([['write_file', { path: 'a.txt', content: 'A' }]]);
const silence: Reply = { deltas: [], finish: 'stop' };

interface Row {
  readonly what: string;
  readonly schema: ReplySchema;
  readonly outputSchema?: JsonObject;
  /** The model's answers, step by step; the last one repeats. */
  readonly says: readonly Reply[];
  readonly steps: number;
  readonly repairs: number;
  readonly ends: string;
  readonly output?: JsonValue;
  readonly remaining?: readonly RegExp[];
}

/** `reply_schema` × the model's replies (docs/handshake.md#reply-schemas). */
const ROWS: readonly Row[] = [
  { what: 'prose', schema: 'prose', says: [say('It is 4.')], steps: 1, repairs: 0, ends: 'done' },
  { what: 'JSON', schema: 'prose', says: [say('{"a":1}')], steps: 1, repairs: 0, ends: 'done' },
  {
    what: 'nothing, then prose',
    schema: 'prose',
    says: [silence, say('It is 4.')],
    steps: 2,
    repairs: 1,
    ends: 'done',
  },
  {
    what: 'done, with remaining work',
    schema: 'prose',
    says: [say(`x${claim({ status: 'done', remaining: ['the docs'] })}`)],
    steps: 1,
    repairs: 0,
    ends: 'partial',
    remaining: [/^the docs$/],
  },
  {
    what: 'done, with nothing left',
    schema: 'prose',
    says: [say(`x${claim({ status: 'done', remaining: ['None.'] })}`)],
    steps: 1,
    repairs: 0,
    ends: 'done',
  },
  {
    what: 'nothing',
    schema: 'prose',
    says: [silence],
    steps: 2,
    repairs: 1,
    ends: 'partial',
    remaining: [/^the reply has no text$/],
  },
  {
    what: 'an unreadable outcome block, then a valid one',
    schema: 'prose',
    says: [say('x\n```outcome\n{"status":"great"}\n```'), say(`x${claim({ status: 'done' })}`)],
    steps: 2,
    repairs: 1,
    ends: 'done',
  },
  {
    what: 'unreadable outcome blocks only',
    schema: 'prose',
    says: [say('x\n```outcome\n{"status":"great"}\n```')],
    steps: 2,
    repairs: 1,
    ends: 'partial',
    remaining: [/^the outcome block cannot be read$/],
  },
  { what: 'a summary', schema: 'structured', says: [say('Summed.')], steps: 1, repairs: 0, ends: 'done' },
  {
    what: 'an outcome block alone, then a summary',
    schema: 'structured',
    says: [say(claim({ status: 'done' })), say('Summed.')],
    steps: 2,
    repairs: 1,
    ends: 'done',
  },
  {
    what: 'outcome blocks alone',
    schema: 'structured',
    says: [say(claim({ status: 'done' }))],
    steps: 2,
    repairs: 1,
    ends: 'partial',
    remaining: [/^there is no summary/],
  },
  {
    what: 'a summary after an unverified write',
    schema: 'structured',
    says: [write, say('Wrote it.')],
    steps: 4,
    repairs: 0,
    ends: 'partial',
    remaining: [/^nothing was verified after the last write$/],
  },
  {
    what: 'any JSON value',
    schema: 'json',
    says: [say('[1, null]')],
    steps: 1,
    repairs: 0,
    ends: 'done',
    output: [1, null],
  },
  { what: 'null', schema: 'json', says: [say('null')], steps: 1, repairs: 0, ends: 'done', output: null },
  {
    what: 'a JSON block in prose',
    schema: 'json',
    says: [say('Here:\n```json\n{"a":1}\n```')],
    steps: 1,
    repairs: 0,
    ends: 'done',
    output: { a: 1 },
  },
  {
    what: 'prose, then JSON',
    schema: 'json',
    says: [say('sure'), say('{"a":1}')],
    steps: 2,
    repairs: 1,
    ends: 'done',
    output: { a: 1 },
  },
  {
    what: 'prose only',
    schema: 'json',
    says: [say('sure')],
    steps: 2,
    repairs: 1,
    ends: 'partial',
    remaining: [/^the reply is not JSON$/],
  },
  {
    what: 'prose, then a tool call',
    schema: 'json',
    says: [say('sure'), write],
    steps: 2,
    repairs: 1,
    ends: 'partial',
    remaining: [/^the reply is not JSON$/],
  },
  {
    what: 'JSON that fits its schema',
    schema: 'json',
    outputSchema: COUNT,
    says: [say('{"count":2}')],
    steps: 1,
    repairs: 0,
    ends: 'done',
    output: { count: 2 },
  },
  {
    what: 'JSON that misses its schema, then JSON that fits',
    schema: 'json',
    outputSchema: COUNT,
    says: [say('{"count":-1}'), say('{"count":1}')],
    steps: 2,
    repairs: 1,
    ends: 'done',
    output: { count: 1 },
  },
  {
    what: 'JSON that misses its schema twice',
    schema: 'json',
    outputSchema: COUNT,
    says: [say('{}'), say('{"count":"1"}'), say('{"count":1}')],
    steps: 2,
    repairs: 1,
    ends: 'partial',
    remaining: [/count/],
  },
  {
    what: 'prose with a partial outcome',
    schema: 'json',
    says: [say(`No.${claim({ status: 'partial', remaining: ['all'] })}`)],
    steps: 1,
    repairs: 0,
    ends: 'partial',
    remaining: [/^all$/],
  },
  {
    what: 'prose with an error outcome',
    schema: 'json',
    says: [say(`No.${claim({ status: 'error' })}`)],
    steps: 1,
    repairs: 0,
    ends: 'error',
  },
];

for (const row of ROWS) {
  test(`a ${row.schema} reply${row.outputSchema ? ' with a schema' : ''}: ${row.what}`, async (t) => {
    const run = await scriptedAgent(t, row.says);
    const { outputSchema } = row;
    const { result, requests, guards } = await run({
      task: { replySchema: row.schema, ...(outputSchema ? { outputSchema } : {}) },
    });
    assert.equal(result.status, row.ends, JSON.stringify(result));
    assert.equal(requests.length, row.steps);
    assert.equal(guards.filter((guard) => guard === 'reply warn').length, row.repairs);
    assert.deepEqual(result.output, row.output);
    assert.equal(result.remaining?.length ?? 0, row.remaining?.length ?? 0, JSON.stringify(result));
    for (const [index, pattern] of (row.remaining ?? []).entries()) {
      assert.match(result.remaining?.[index] ?? '', pattern);
    }
    assert.equal(result.artifacts.filesChanged.length, row.says[0] === write ? 1 : 0);
    if (row.repairs === 0) return;
    const repair = requests.at(-1) ?? assert.fail();
    assert.match(asked(repair), /^The reply does not fit\.\n- .+\nThe tools are off\./);
    assert.equal(repair.tool_choice, 'none');
    assert.equal(userTexts(repair).filter((text) => text.startsWith('The reply does not fit')).length, 1);
    if (outputSchema) assert.ok(asked(repair).includes(JSON.stringify(outputSchema)));
  });
}

test('the prompt asks for the reply in its required form', async (t) => {
  const run = await scriptedAgent(t, () => say('{"count":2}'));
  const { requests } = await run({ task: { replySchema: 'json', outputSchema: COUNT } });
  const system = String(requests[0]?.messages[0]?.content);
  assert.match(system, /Reply with one JSON value and nothing else\. It must fit this JSON Schema:/);
  assert.ok(system.includes(JSON.stringify(COUNT)));
});

test('a reply that does not fit is not repaired when the limits leave no step for it', async (t) => {
  const run = await scriptedAgent(t, () => say('sure'), { limits: { max_steps: 1 } });
  const steps = await run({ task: { replySchema: 'json' } });
  assert.deepEqual([steps.result.status, steps.requests.length], ['partial', 1]);
  assert.deepEqual(steps.result.remaining, ['the reply is not JSON']);
  const poor = await scriptedAgent(t, () => say('sure'));
  const tokens = await poor({ task: { replySchema: 'json' }, limit: 800 });
  assert.deepEqual([tokens.result.status, tokens.requests.length], ['partial', 1]);
  assert.deepEqual(tokens.result.remaining, ['the reply is not JSON']);
  assert.ok(tokens.context.budget.spent() <= 800);
});

test('a repair prompt that does not fit the window is not sent, and the reply is kept', async (t) => {
  const outputSchema = { ...COUNT, description: 'what is to be counted '.repeat(1000) };
  for (const limit of [9000, 10_000, 11_000]) {
    const run = await scriptedAgent(t, () => say('{}'));
    const { result, requests } = await run({ task: { replySchema: 'json', outputSchema }, limit });
    assert.deepEqual([result.status, result.text, requests.length], ['partial', '{}', 1], String(limit));
    assert.match(result.remaining?.join() ?? '', /count/);
  }
});

test('an echo must meet the reply contract', async (t) => {
  const { executor } = await makeAgent(t, {}, { responseHandler: 'echo' });
  const task = { replySchema: 'json' as const, outputSchema: COUNT };
  const misses = await executor.run(makeTask('some text', { task }), makeContext());
  assert.deepEqual([misses.status, misses.remaining], ['partial', ['the reply is not JSON']]);
  const fits = await executor.run(makeTask('{"count":1}', { task }), makeContext());
  assert.deepEqual([fits.status, fits.output], ['done', { count: 1 }]);
});

test('offline/runbook ends partial when its report does not fit the output schema', async (t) => {
  const agent = await makeAgent(t);
  const brief = block('sh', 'echo hi');
  const task = (outputSchema: JsonObject) => makeTask(brief, { task: { replySchema: 'json', outputSchema } });
  const result = await agent.executor.run(task(COUNT), makeContext());
  assert.equal(result.status, 'partial', JSON.stringify(result));
  assert.match(result.remaining?.join() ?? '', /a reply that fits: offline\/runbook reports what it ran/);
  const fits = await agent.executor.run(task({ type: 'object', required: ['ran'] }), makeContext());
  assert.equal(fits.status, 'done', JSON.stringify(fits));
  assert.deepEqual(fits.output, { ran: [{ command: 'echo hi', result: 'exit code 0' }], wrote: [] });
});
