import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { SECRET } from '@hermes-fleet/workspace/testing';
import {
  type AnthropicReply,
  type AnthropicServer,
  anthropicServer,
  type MessagesRequest,
  resultsOf,
  textsOf,
} from '../../testing/anthropic-server.ts';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';

const MODEL = { model: 'anthropic/claude-sonnet-4-5', tools: { shell: { enabled: false } } } as const;
const env = { read: (name: string) => (name === 'ANTHROPIC_API_KEY' ? SECRET : undefined) };

async function agentOf(
  t: TestContext,
  script: (call: number, request: MessagesRequest) => AnthropicReply,
  options: { model?: string; address?: (server: AnthropicServer) => string } = {},
) {
  const server = await anthropicServer(t, script);
  const base_url = options.address?.(server) ?? server.url;
  const agent = await makeAgent(
    t,
    { ...MODEL, ...(options.model && { model: options.model }), base_url },
    { env },
  );
  return { agent, server };
}

const streamed = (events: readonly RunEvent[]): string =>
  events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');

test('over the Messages API, text is streamed, tools are called, and cached tokens are booked separately', async (t) => {
  const { agent, server } = await agentOf(t, (turn): AnthropicReply => {
    if (turn === 1) {
      return {
        text: 'I write. ',
        calls: [['write_file', { path: 'a.txt', content: 'A "quoted"\nline' }]],
        usage: { input_tokens: 900, cache_creation_input_tokens: 300, output_tokens: 20 },
      };
    }
    if (turn === 2) {
      const usage = { input_tokens: 700, cache_read_input_tokens: 600, output_tokens: 10 };
      return { calls: [['read_file', { path: 'a.txt' }]], usage };
    }
    return {
      text: 'All done.',
      usage: { input_tokens: 800, cache_read_input_tokens: 600, output_tokens: 5 },
    };
  });
  const context = makeContext({ limit: 50_000 });
  const task = makeTask('Write to a.txt', { task: { replySchema: 'structured' } });
  const result = await agent.executor.run(task, context);
  assert.deepEqual([result.status, result.text], ['done', 'All done.'], JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source } = context.budget.usage();
  assert.deepEqual(
    { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source },
    { inputTokens: 2400, outputTokens: 35, cacheReadTokens: 1200, cacheWriteTokens: 300, source: 'metered' },
  );
  assert.equal(context.budget.spent(), 2435, 'cached tokens are not spent');
  assert.equal(streamed(context.events), 'I write. All done.');
  const [first, , last] = server.received;
  assert.equal(first?.headers['x-api-key'], SECRET);
  assert.equal(first?.headers['anthropic-version'], '2023-06-01');
  assert.deepEqual([first?.body.model, first?.body.stream], ['claude-sonnet-4-5', true]);
  assert.ok((first?.body.max_tokens ?? 0) <= 8192);
  assert.ok(textsOf(first?.body ?? assert.fail()).system.startsWith('You are neo'));
  const seen = resultsOf(last?.body ?? assert.fail());
  assert.deepEqual(
    seen.map(({ isError }) => isError),
    [false, false],
  );
  assert.match(seen[1]?.text ?? '', /A \\"quoted\\"\\nline/);
  assert.deepEqual(server.strays, []);
});

for (const [given, address] of [
  ['without /v1', ({ url }: AnthropicServer) => url],
  ['with /v1', ({ url }: AnthropicServer) => `${url}/v1`],
  ['with a trailing slash', ({ url }: AnthropicServer) => `${url}/v1/`],
] as const) {
  test(`a base_url ${given} reaches the Messages API`, async (t) => {
    const { agent, server } = await agentOf(t, () => ({ text: 'Hello.' }), { address });
    assert.equal((await agent.executor.run(makeTask('Hello?'), makeContext())).status, 'done');
    assert.deepEqual([server.requests.length, server.strays], [1, []]);
  });
}

const LONG = /\bcontext-1m-2025-08-07\b/;

test('only [1m] in a model name requests the long context window', async (t) => {
  const long = await agentOf(t, () => ({ text: 'Hello.' }), { model: 'claude-opus-4-6[1m]' });
  assert.equal((await long.agent.executor.run(makeTask('Hello?'), makeContext())).status, 'done');
  const [asked] = long.server.received;
  assert.equal(asked?.body.model, 'claude-opus-4-6');
  assert.match(String(asked?.headers['anthropic-beta']), LONG);
  assert.equal(long.agent.executor.model.contextWindow, 1_000_000);
  const short = await agentOf(t, () => ({ text: 'Hello.' }));
  await short.agent.executor.run(makeTask('Hello?'), makeContext());
  assert.doesNotMatch(String(short.server.received[0]?.headers['anthropic-beta']), LONG);
  assert.equal(short.agent.executor.model.contextWindow, 200_000);
});

for (const [status, type] of [
  [429, 'rate_limit_error'],
  [529, 'overloaded_error'],
] as const) {
  test(`a call answered with ${status} is retried and costs nothing`, async (t) => {
    const { agent, server } = await agentOf(t, (turn): AnthropicReply => {
      const headers = { 'retry-after-ms': '5' };
      if (turn === 1) return { status, type, message: 'slow down', headers };
      return { text: 'Here.', usage: { input_tokens: 900, output_tokens: 5 } };
    });
    const context = makeContext({ limit: 50_000 });
    const result = await agent.executor.run(makeTask('Hello?'), context);
    assert.deepEqual([result.status, server.requests.length], ['done', 2], JSON.stringify(result));
    assert.deepEqual([context.budget.spent(), context.budget.usage().source], [905, 'metered']);
  });
}

test('a rejected key ends the run at once, without a charge, and no error contains it', async (t) => {
  const logged: unknown[] = [];
  const note = (...line: unknown[]): void => void logged.push(line);
  const server = await anthropicServer(t, () => ({
    status: 401,
    type: 'authentication_error',
    message: 'invalid x-api-key',
  }));
  const agent = await makeAgent(
    t,
    { ...MODEL, base_url: server.url },
    { env, log: { debug: note, info: note, warn: note, error: note } },
  );
  const context = makeContext({ limit: 50_000 });
  const result = await agent.executor.run(makeTask('Hello?'), context);
  assert.deepEqual([result.status, result.error?.code], ['error', 'model_failed']);
  assert.match(result.error?.message ?? '', /answered 401; check its key in config\.yaml/);
  assert.deepEqual([server.requests.length, context.budget.spent()], [1, 0]);
  const told = [result, context.events, context.checkpoints, logged.map(deepText)];
  assert.doesNotMatch(JSON.stringify(told), new RegExp(SECRET));
});

/** Makes the errors of a log entry, and their causes, serializable. */
function deepText(value: unknown, depth = 0): unknown {
  if (depth > 6 || typeof value !== 'object' || value === null) return value;
  const own = Object.fromEntries(
    Object.getOwnPropertyNames(value).map((key) => [key, Reflect.get(value, key)]),
  );
  return Object.fromEntries(Object.entries(own).map(([key, each]) => [key, deepText(each, depth + 1)]));
}

test('a stream that ends with an error ends the run, and the received output is charged', async (t) => {
  const { agent } = await agentOf(t, () => ({ text: 'I think that', breaksWith: 'overloaded_error' }));
  const context = makeContext({ limit: 50_000 });
  const result = await agent.executor.run(makeTask('Think'), context);
  assert.deepEqual([result.status, result.error?.code], ['error', 'model_failed'], JSON.stringify(result));
  const { inputTokens, outputTokens, source } = context.budget.usage();
  assert.ok(inputTokens > 100 && outputTokens > 0 && outputTokens < 20, JSON.stringify({ inputTokens }));
  assert.equal(source, 'estimated');
});

test('an abort ends a hanging call and closes its connection', async (t) => {
  const { agent, server } = await agentOf(t, () => ({ text: 'thinking aloud', hang: true }));
  const context = makeContext({
    limit: 50_000,
    onEvent: (event) => {
      if (event.type === 'text')
        context.controller.abort(new FleetError('CANCELED', 'canceled by the caller'));
    },
  });
  const result = await agent.executor.run(makeTask('Think'), context);
  assert.deepEqual([result.status, result.error?.code], ['error', 'canceled']);
  assert.ok(context.budget.spent() > 100);
  await t.waitFor(() => assert.equal(server.abandoned(), 1));
});

test('an answer cut at the output limit is incomplete', async (t) => {
  const { agent } = await agentOf(t, () => ({ text: 'It goes on and', stop: 'max_tokens' }));
  const result = await agent.executor.run(makeTask('Tell'), makeContext());
  assert.equal(result.status, 'partial');
  assert.match(result.remaining?.[0] ?? '', /cut at the output limit/);
});
