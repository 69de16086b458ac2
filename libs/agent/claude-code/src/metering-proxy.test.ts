import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { type AnthropicReply, memoryTokens } from '@hermes-fleet/loop/testing';
import { recordingTracing } from '@hermes-fleet/protocol/testing';
import { SECRET } from '@hermes-fleet/workspace/testing';
import { proxyTo, REQUEST, rawProxy, scriptedProxy, TRACEPARENT, USAGE } from '../testing/metered-proxy.ts';

test('a streamed response is relayed unchanged and settled with its usage, cached tokens separately', async (t) => {
  const usage = {
    input_tokens: 200,
    cache_read_input_tokens: 300,
    cache_creation_input_tokens: 100,
    output_tokens: 40,
  };
  const { server, context, proxy, call, used } = await scriptedProxy(
    t,
    () => ({ text: 'The sea is wide.', usage }),
    {
      limit: 10_000,
    },
  );
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
  assert.deepEqual(received?.body.messages, REQUEST.messages);
  await proxy[Symbol.asyncDispose]();
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source } = context.budget.usage();
  assert.deepEqual(
    { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source },
    { inputTokens: 200, outputTokens: 40, cacheReadTokens: 300, cacheWriteTokens: 100, source: 'metered' },
  );
  const booked = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source };
  assert.deepEqual(used, [{ ...booked, model: 'anthropic/claude-sonnet-4-5' }]);
  assert.equal(proxy.stopReason(), 'end_turn');
});

test('each call is a span of the run with its usage, and a refused one an error', async (t) => {
  const tracing = recordingTracing();
  const { proxy, call } = await scriptedProxy(
    t,
    (count) => (count === 1 ? { text: 'The sea is wide.', usage: USAGE } : { status: 529 }),
    { limit: 10_000, tracing },
  );
  for (let sent = 0; sent < 2; sent += 1) await (await call()).text();
  await proxy[Symbol.asyncDispose]();
  const [answered, refused] = tracing.named('chat anthropic/claude-sonnet-4-5');
  assert.deepEqual([answered?.kind, answered?.parent, answered?.failure], ['client', TRACEPARENT, undefined]);
  const { attributes = {} } = answered ?? {};
  assert.deepEqual(
    [attributes['gen_ai.usage.input_tokens'], attributes['gen_ai.usage.output_tokens']],
    [USAGE.input_tokens, USAGE.output_tokens],
  );
  assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['end_turn']);
  assert.deepEqual([refused?.isEnded, refused?.failure], [true, 'MODEL_FAILED']);
});

test('each call is measured: whole, refused, broken off and canceled ones', async (t) => {
  const { call, clock, measured, proxy } = await rawProxy(t, (response) => {
    const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
    const nth = measured.length + 1;
    clock.advance(1_000);
    if (nth === 2) return void response.writeHead(529).end('{}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const start = event({ type: 'message_start', message: { usage: USAGE } });
    if (nth === 3) return void response.write(start, () => response.destroy());
    response.write(start + event({ type: 'content_block_delta', delta: { text: 'The sea.' } }));
    if (nth === 1) response.end(event({ type: 'message_delta', delta: {}, usage: USAGE }));
  });
  await (await call()).text();
  assert.equal((await call()).status, 529);
  await call()
    .then((answer) => answer.text())
    .catch(() => undefined);
  const gone = new AbortController();
  const answer = await call({}, {}, undefined, gone.signal);
  await answer.body?.getReader().read();
  gone.abort();
  await proxy[Symbol.asyncDispose]();
  assert.deepEqual(measured, [
    { outcome: 'ok', seconds: 1, firstTokenSeconds: 1 },
    { outcome: 'error', seconds: 1, firstTokenSeconds: undefined },
    { outcome: 'error', seconds: 1, firstTokenSeconds: undefined },
    { outcome: 'canceled', seconds: 1, firstTokenSeconds: 1 },
  ]);
});

test('a response without streaming is settled too, also one without tools', async (t) => {
  const { context, proxy, call } = await scriptedProxy(t, () => ({ text: 'Short.', usage: USAGE }), {
    limit: 10_000,
  });
  const answer = await (await call({ stream: false, tools: undefined })).text();
  assert.match(answer, /"content":\[\{"type":"text","text":"Short\."\}\]/);
  await proxy[Symbol.asyncDispose]();
  assert.deepEqual([context.budget.spent(), context.budget.usage().source], [640, 'metered']);
});

test('a request without the secret path and the key gets 404 and spends nothing', async (t) => {
  const { server, context, proxy, call } = await scriptedProxy(t, () => ({ text: 'Hello.' }));
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

test('only valid calls of the configured model are allowed', async (t) => {
  const { server, call } = await scriptedProxy(t, () => ({ text: 'Hello.' }));
  const wrong = [{ model: 'claude-opus-4-6' }, { messages: 'none' }, { max_tokens: 0 }, { max_tokens: 1.5 }];
  for (const body of wrong) assert.equal((await call(body)).status, 400, JSON.stringify(body));
  assert.equal(server.requests.length, 0);
});

test('the remaining budget limits the output of a call, and a spent budget answers 402', async (t) => {
  const { server, context, proxy, call } = await scriptedProxy(
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
  assert.equal(
    (await call({ messages: [{ role: 'user', content: 'hi' }] })).status,
    402,
    'a spent budget stays spent',
  );
  assert.equal(server.requests.length, 1);
  assert.equal(proxy.failure()?.code, 'BUDGET_EXHAUSTED');
  assert.equal(context.budget.spent(), 1300);
});

test('concurrent calls never exceed the budget together', async (t) => {
  const { server, context, call } = await scriptedProxy(
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

test('idle connections without the key do not keep a run from its model', async (t) => {
  const { proxy, call } = await scriptedProxy(t, () => ({ text: 'Hello.', usage: USAGE }), { limit: 10_000 });
  const { hostname, port } = new URL(proxy.url);
  const idle = await Promise.all(
    Array.from({ length: 80 }, async () => {
      const socket = connect(Number(port), hostname);
      t.after(() => socket.destroy());
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    }),
  );
  const closed = idle.map((socket) => once(socket, 'close'));
  assert.equal((await call()).status, 200);
  await Promise.all(closed);
});

test('cached tokens are not expected to be billed again, unless they count', async (t) => {
  const usage = { input_tokens: 20, cache_creation_input_tokens: 560, output_tokens: 10 };
  for (const countCache of [false, true]) {
    const { proxy, call } = await scriptedProxy(t, () => ({ text: 'x', usage }), {
      limit: 50_000,
      countCache,
    });
    await (await call()).text();
    const first = proxy.expected();
    assert.equal(first.billed, first.total);
    await (await call({ messages: [...REQUEST.messages, { role: 'user', content: 'And more.' }] })).text();
    const second = proxy.expected();
    assert.ok(second.total > first.total);
    if (countCache) assert.equal(second.billed, second.total);
    else assert.ok(second.billed < first.billed / 2, JSON.stringify({ first, second }));
  }
});

test('a refusal is relayed, except a rejected key, and costs nothing', async (t) => {
  const statuses = [429, 529, 401, 400];
  const { context, proxy, call, ends } = await scriptedProxy(t, (turn): AnthropicReply => {
    const status = statuses[turn - 1];
    if (status === undefined) return { text: 'Here.', usage: USAGE };
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
    'Claude Code would retry a 401 for minutes',
  );
  assert.match(proxy.failure()?.message ?? '', /answered 401; check its key in config\.yaml/);
  assert.equal(proxy.failure()?.retryable, false);
  assert.equal((await call()).status, 400);
  assert.equal(context.budget.spent(), 0);
  await (await call()).text();
  assert.equal(proxy.failure(), undefined, 'a response clears earlier failures');
  const refused = statuses.map((status) => ({ kind: 'refused', status }));
  assert.deepEqual(ends, [...refused, { kind: 'answered' }], 'the health of the model learns of each');
});

test('an unreachable provider is a retryable failure and costs nothing', async (t) => {
  const { context, proxy, call, ends } = await proxyTo(t, 'http://127.0.0.1:1');
  const answer = await call();
  assert.equal(answer.status, 502);
  assert.match(proxy.failure()?.message ?? '', /could not be reached/);
  assert.deepEqual([proxy.failure()?.retryable, context.budget.spent()], [true, 0]);
  assert.deepEqual(ends, [{ kind: 'unreachable' }]);
});

test('token counting costs nothing, and disposal closes the listener', async (t) => {
  const { server, context, proxy, call } = await scriptedProxy(t, () => ({ text: 'Hello.' }));
  const counted = await (await call({}, {}, '/v1/messages/count_tokens')).text();
  assert.match(counted, /^\{"input_tokens":[1-9]/);
  assert.deepEqual([server.requests.length, context.budget.spent()], [0, 0]);
  const { port } = new URL(proxy.url);
  await proxy[Symbol.asyncDispose]();
  const socket = connect(Number(port), '127.0.0.1');
  const [error] = await once(socket, 'error');
  assert.equal(error.code, 'ECONNREFUSED');
});

test('reserved output is consistent with the budget while a settlement is being written', async (t) => {
  const store = memoryTokens();
  const begun = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<void>();
  const { context, proxy, call } = await scriptedProxy(
    t,
    () => ({ text: 'The sea is wide.', usage: USAGE }),
    {
      limit: 10_000,
      store: {
        ...store,
        async settle(...settlement) {
          begun.resolve();
          await slow.promise;
          await store.settle(...settlement);
        },
      },
    },
  );
  const { budget } = context;
  const answer = await call();
  const body = answer.text();
  await begun.promise;
  const totals = (): number[] => [
    budget.spent() - proxy.reservedOutput(),
    budget.remaining() + proxy.reservedOutput(),
  ];
  assert.deepEqual(totals(), [640, 9_360]);
  slow.resolve();
  await body;
  assert.deepEqual(totals(), [640, 9_360]);
});
