import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { AgentConfigSchema, createModel } from '@hermes-fleet/agent';
import {
  type AnthropicReply,
  anthropicServer,
  type MessagesRequest,
  makeContext,
  memoryTokens,
} from '@hermes-fleet/agent/testing';
import type { TokenStore } from '@hermes-fleet/protocol';
import { quietLog, SECRET } from '@hermes-fleet/workspace/testing';
import { openMeteringProxy } from './metering-proxy.ts';

const NAME = 'claude-sonnet-4-5';
const env = { read: (name: string) => (name === 'ANTHROPIC_API_KEY' ? SECRET : undefined) };

async function metered(
  t: TestContext,
  script: (call: number, request: MessagesRequest) => AnthropicReply,
  o: { limit?: number; countCache?: boolean; store?: TokenStore } = {},
) {
  const server = await anthropicServer(t, script);
  const { limit, store } = o;
  const context = makeContext({ ...(limit !== undefined && { limit }), ...(store && { store }) });
  const config = AgentConfigSchema.parse({ model: `anthropic/${NAME}` });
  const proxy = await openMeteringProxy({
    upstream: server.url,
    apiKey: SECRET,
    modelName: NAME,
    countCache: o.countCache ?? false,
    log: quietLog,
    model: await createModel(config, 'sonnet', env),
    budget: context.budget,
    signal: context.signal,
  });
  t.after(() => proxy[Symbol.asyncDispose]());
  const call = (body: object = {}, headers: Record<string, string> = {}, path = '/v1/messages?beta=true') =>
    fetch(`${proxy.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': proxy.key, ...headers },
      body: JSON.stringify({ ...ASKED, ...body }),
    });
  return { server, context, proxy, call };
}

const TOOL = { name: 'Read', description: 'Read a file.', input_schema: { type: 'object', properties: {} } };
const ASKED = {
  model: NAME,
  max_tokens: 4096,
  stream: true,
  system: 'You are neo.',
  tools: [TOOL],
  messages: [{ role: 'user', content: 'Write about the sea. '.repeat(100) }],
};

/** Which the estimate of ASKED can be. */
const INPUT = { input_tokens: 600, output_tokens: 40 };

test('a streamed answer comes through as it is, and its bill is booked, cached tokens apart', async (t) => {
  const usage = {
    input_tokens: 200,
    cache_read_input_tokens: 300,
    cache_creation_input_tokens: 100,
    output_tokens: 40,
  };
  const { server, context, proxy, call } = await metered(t, () => ({ text: 'The sea is wide.', usage }), {
    limit: 10_000,
  });
  const answer = await call(
    {},
    { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'some-beta', cookie: 'no' },
  );
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /text\/event-stream/);
  const text = await answer.text();
  assert.match(text, /^event: message_start\n/);
  assert.match(text, /event: ping/);
  assert.match(text, /event: message_stop\n.*\n\n$/);
  const [received] = server.received;
  assert.equal(received?.headers['x-api-key'], SECRET, "the provider gets the provider's key");
  assert.equal(received?.headers['anthropic-beta'], 'some-beta');
  assert.deepEqual([received?.headers.cookie, received?.headers.authorization], [undefined, undefined]);
  assert.deepEqual(received?.body.messages, ASKED.messages);
  await proxy[Symbol.asyncDispose]();
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source } = context.budget.usage();
  assert.deepEqual(
    { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source },
    { inputTokens: 200, outputTokens: 40, cacheReadTokens: 300, cacheWriteTokens: 100, source: 'metered' },
  );
  assert.equal(proxy.stopReason(), 'end_turn');
});

test('an answer that is not streamed is booked too, also one without tools', async (t) => {
  const { context, proxy, call } = await metered(t, () => ({ text: 'Short.', usage: INPUT }), {
    limit: 10_000,
  });
  const answer = await (await call({ stream: false, tools: undefined })).text();
  assert.match(answer, /"content":\[\{"type":"text","text":"Short\."\}\]/);
  await proxy[Symbol.asyncDispose]();
  assert.deepEqual([context.budget.spent(), context.budget.usage().source], [640, 'metered']);
});

test('whoever does not know the path and the key gets nothing, and spends nothing', async (t) => {
  const { server, context, proxy, call } = await metered(t, () => ({ text: 'Hello.' }));
  const { origin } = new URL(proxy.url);
  const refused = [
    await call({}, { 'x-api-key': 'guessed' }),
    await call({}, { 'x-api-key': '' }),
    await fetch(`${origin}/v1/messages`, { method: 'POST', headers: { 'x-api-key': proxy.key }, body: '{}' }),
    await fetch(`${origin}/guessed/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': proxy.key },
      body: '{}',
    }),
    await fetch(`${proxy.url}/v1/messages`, { headers: { 'x-api-key': proxy.key } }),
    await call({}, {}, '/v1/files'),
    await call({}, {}, '/../v1/messages'),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 404),
  );
  for (const answer of refused) assert.doesNotMatch(await answer.text(), new RegExp(SECRET));
  assert.deepEqual([server.received.length, server.strays, context.budget.spent()], [0, [], 0]);
});

test('only the model of the run can be called, and only with what is a call', async (t) => {
  const { server, call } = await metered(t, () => ({ text: 'Hello.' }));
  const wrong = [{ model: 'claude-opus-4-6' }, { messages: 'none' }, { max_tokens: 0 }, { max_tokens: 1.5 }];
  for (const body of wrong) assert.equal((await call(body)).status, 400, JSON.stringify(body));
  assert.equal(server.requests.length, 0);
});

test('the output of a call is bounded by what is left, and when the budget is gone it answers 402', async (t) => {
  const { server, context, proxy, call } = await metered(
    t,
    (_turn, { max_tokens }) => ({
      text: 'x',
      usage: { input_tokens: 600, output_tokens: Math.min(max_tokens, 700) },
    }),
    { limit: 1500 },
  );
  assert.equal((await call()).status, 200);
  assert.ok((server.requests[0]?.max_tokens ?? 0) < 1200, String(server.requests[0]?.max_tokens));
  const second = await call();
  assert.equal(second.status, 402);
  assert.equal(second.headers.get('x-should-retry'), 'false');
  assert.match(await second.text(), /the token budget of this task is spent/);
  assert.equal((await call({ messages: [{ role: 'user', content: 'hi' }] })).status, 402, 'it stays gone');
  assert.equal(server.requests.length, 1);
  assert.equal(proxy.failure()?.code, 'BUDGET_EXHAUSTED');
  assert.equal(context.budget.spent(), 1300);
});

test('calls at the same time never pass the ceiling together', async (t) => {
  const { server, context, call } = await metered(
    t,
    (_turn, { max_tokens }) => ({ text: 'x', usage: { input_tokens: 600, output_tokens: max_tokens } }),
    { limit: 3000 },
  );
  const answers = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const answer = await call();
      await answer.text();
      return answer.status;
    }),
  );
  assert.deepEqual(new Set(answers), new Set([200, 402]));
  assert.ok(context.budget.spent() <= 3000 + 600 * server.requests.length, String(context.budget.spent()));
  const ordered = server.requests.reduce((sum, { max_tokens }) => sum + max_tokens, 0);
  assert.ok(ordered < 3000, String(ordered));
});

test('what comes from the cache is not expected to be spent again, unless cached tokens count', async (t) => {
  const usage = { input_tokens: 20, cache_creation_input_tokens: 560, output_tokens: 10 };
  for (const countCache of [false, true]) {
    const { proxy, call } = await metered(t, () => ({ text: 'x', usage }), { limit: 50_000, countCache });
    await (await call()).text();
    const first = proxy.expected();
    assert.equal(first.billed, first.total);
    await (await call({ messages: [...ASKED.messages, { role: 'user', content: 'And more.' }] })).text();
    const second = proxy.expected();
    assert.ok(second.total > first.total);
    if (countCache) assert.equal(second.billed, second.total);
    else assert.ok(second.billed < first.billed / 2, JSON.stringify({ first, second }));
  }
});

test('a refusal is passed on, but for one of the key, and costs nothing', async (t) => {
  const statuses = [429, 529, 401, 400];
  const { context, proxy, call } = await metered(t, (turn): AnthropicReply => {
    const status = statuses[turn - 1];
    if (status === undefined) return { text: 'Here.', usage: INPUT };
    return { status, type: 'some_error', message: 'because', headers: { 'retry-after': '3' } };
  });
  const limited = await call();
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '3']);
  assert.deepEqual([proxy.failure()?.code, proxy.failure()?.retryable], ['MODEL_FAILED', true]);
  assert.equal((await call()).status, 529);
  const key = await call();
  assert.deepEqual(
    [key.status, key.headers.get('x-should-retry')],
    [402, 'false'],
    'so that it is not tried for minutes',
  );
  assert.match(proxy.failure()?.message ?? '', /answered 401; check its key in config\.yaml/);
  assert.equal(proxy.failure()?.retryable, false);
  assert.equal((await call()).status, 400);
  assert.equal(context.budget.spent(), 0);
  await (await call()).text();
  assert.equal(proxy.failure(), undefined, 'an answer makes up for the refusals before it');
});

test('an answer whose caller goes away is ended at the provider, and what arrived is charged', async (t) => {
  const { server, context, proxy } = await metered(t, () => ({
    text: 'The sea is wide and',
    usage: INPUT,
    hang: true,
  }));
  const gone = new AbortController();
  const answer = await fetch(`${proxy.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': proxy.key },
    body: JSON.stringify(ASKED),
    signal: gone.signal,
  });
  const reader = answer.body?.getReader();
  await reader?.read();
  gone.abort();
  await t.waitFor(() => assert.equal(server.abandoned(), 1));
  await proxy[Symbol.asyncDispose]();
  const { inputTokens, outputTokens, source } = context.budget.usage();
  assert.deepEqual([inputTokens, source], [600, 'estimated'], 'the input as the provider said it');
  assert.ok(outputTokens < 10);
});

test('an abort of the run ends every call at once, and all of it is booked when it is disposed of', async (t) => {
  const { server, context, proxy, call } = await metered(t, () => ({
    text: 'thinking',
    usage: INPUT,
    hang: true,
  }));
  const calls = [call(), call(), call()].map(async (answer) =>
    (await answer).text().then(
      () => 'whole',
      () => 'cut',
    ),
  );
  await t.waitFor(() => assert.equal(server.requests.length, 3));
  context.controller.abort(new Error('enough'));
  assert.deepEqual(await Promise.all(calls), ['cut', 'cut', 'cut']);
  await proxy[Symbol.asyncDispose]();
  assert.equal(server.abandoned(), 3);
  assert.equal(context.budget.usage().source, 'estimated');
  assert.ok(context.budget.spent() >= 1800, String(context.budget.spent()));
  await assert.rejects(call());
});

test('a stream that breaks off with an error is charged by what arrived, and told as a failure that may pass', async (t) => {
  const { context, proxy, call } = await metered(t, () => ({
    text: 'The sea',
    usage: INPUT,
    breaksWith: 'overloaded_error',
  }));
  const answer = await call();
  await answer.text().catch(() => '');
  await proxy[Symbol.asyncDispose]();
  assert.equal(context.budget.usage().source, 'estimated');
  assert.ok(context.budget.spent() >= 600 && context.budget.spent() < 620, String(context.budget.spent()));
});

test('a provider that sends more than was ordered is cut off', async (t) => {
  const { server, context, proxy, call } = await metered(
    t,
    () => ({ text: 'word '.repeat(4000), usage: { input_tokens: 600, output_tokens: 4000 } }),
    { limit: 1500 },
  );
  await call()
    .then(
      (answer) => answer.text(),
      () => '',
    )
    .catch(() => '');
  assert.match(proxy.failure()?.message ?? '', /more than was ordered/);
  await proxy[Symbol.asyncDispose]();
  const ordered = server.requests[0]?.max_tokens ?? 0;
  assert.ok(ordered > 0 && ordered < 1000);
  assert.equal(context.budget.usage().outputTokens, ordered);
});

test('a provider that cannot be reached is a failure that may pass, and costs nothing', async () => {
  const context = makeContext();
  const config = AgentConfigSchema.parse({ model: `anthropic/${NAME}` });
  await using proxy = await openMeteringProxy({
    upstream: 'http://127.0.0.1:1',
    apiKey: SECRET,
    modelName: NAME,
    countCache: false,
    log: quietLog,
    model: await createModel(config, 'sonnet', env),
    budget: context.budget,
    signal: context.signal,
  });
  const answer = await fetch(`${proxy.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': proxy.key },
    body: JSON.stringify(ASKED),
  });
  assert.equal(answer.status, 502);
  assert.match(proxy.failure()?.message ?? '', /could not be reached/);
  assert.deepEqual([proxy.failure()?.retryable, context.budget.spent()], [true, 0]);
});

test('tokens are counted for nothing, and the listener is gone with the run', async (t) => {
  const { server, context, proxy, call } = await metered(t, () => ({ text: 'Hello.' }));
  const counted = await (await call({}, {}, '/v1/messages/count_tokens')).text();
  assert.match(counted, /^\{"input_tokens":[1-9]/);
  assert.deepEqual([server.requests.length, context.budget.spent()], [0, 0]);
  const { port } = new URL(proxy.url);
  await proxy[Symbol.asyncDispose]();
  const socket = connect(Number(port), '127.0.0.1');
  const [error] = await once(socket, 'error');
  assert.equal(error.code, 'ECONNREFUSED');
});

test('what calls under way may never take is told right while a settlement is being written', async (t) => {
  const store = memoryTokens();
  const begun = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<void>();
  const { context, proxy, call } = await metered(t, () => ({ text: 'The sea is wide.', usage: INPUT }), {
    limit: 10_000,
    store: {
      ...store,
      async settle(...settlement) {
        begun.resolve();
        await slow.promise;
        await store.settle(...settlement);
      },
    },
  });
  const { budget } = context;
  const answer = await call();
  const body = answer.text();
  await begun.promise;
  const told = (): number[] => [
    budget.spent() - proxy.reservedOutput(),
    budget.remaining() + proxy.reservedOutput(),
  ];
  assert.deepEqual(told(), [640, 9_360]);
  slow.resolve();
  await body;
  assert.deepEqual(told(), [640, 9_360]);
});
