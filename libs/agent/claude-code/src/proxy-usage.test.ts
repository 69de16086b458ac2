import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import { memoryTokens } from '@hermes-fleet/loop/testing';
import { rawProxy, scriptedProxy, USAGE } from '../testing/metered-proxy.ts';

const streamed = (response: ServerResponse, ...events: readonly { readonly type: string }[]): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
};
const START = { type: 'message_start', message: { usage: { input_tokens: 600, output_tokens: 1 } } };
const END = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 70 } };

test('a response that ends before its first event is settled with the expected input', async (t) => {
  const { context, proxy, call } = await rawProxy(t, (response) => {
    streamed(response, { type: 'ping' });
    response.end();
  });
  await (await call()).text().catch(() => '');
  await proxy[Symbol.asyncDispose]();
  assert.ok(context.budget.spent() > 400, String(context.budget.spent()));
  assert.deepEqual([proxy.failure()?.code, proxy.failure()?.retryable], ['MODEL_FAILED', true]);
  assert.match(proxy.failure()?.message ?? '', /cut off/);
});

test('an interrupted response without streaming is settled with the received output', async (t) => {
  const { context, proxy, call } = await rawProxy(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' });
    response.write(`{"content":[{"type":"text","text":"${'word '.repeat(300)}`);
    setImmediate(() => response.destroy());
  });
  await call({ stream: false }).then(
    (answer) => answer.text().catch(() => ''),
    () => '',
  );
  await proxy[Symbol.asyncDispose]();
  const { inputTokens, outputTokens, source } = context.budget.usage();
  assert.ok(inputTokens > 400 && outputTokens >= 300, JSON.stringify(context.budget.usage()));
  assert.equal(source, 'estimated');
});

test('a received usage is settled, although the connection breaks afterwards', async (t) => {
  const { context, proxy, call } = await rawProxy(t, (response) => streamed(response, START, END));
  const gone = new AbortController();
  const reader = (await call({}, {}, undefined, gone.signal)).body?.getReader();
  let seen = '';
  while (!seen.includes('message_delta')) seen += new TextDecoder().decode((await reader?.read())?.value);
  gone.abort();
  await t.waitFor(() => assert.equal(context.budget.usage().source, 'metered'));
  await proxy[Symbol.asyncDispose]();
  assert.equal(context.budget.spent(), 670);
});

test('a call can use what the call before it left, however slow its settlement is', async (t) => {
  const store = memoryTokens();
  const booked = Promise.withResolvers<void>();
  const slow = {
    ...store,
    async settle(...entry: Parameters<typeof store.settle>) {
      await booked.promise;
      await store.settle(...entry);
    },
  };
  const { context, call } = await rawProxy(
    t,
    (response) => {
      streamed(response, START, END);
      response.end();
    },
    { limit: 3000, store: slow },
  );
  await (await call()).text();
  const second = call();
  // The second call has arrived once a later request is answered.
  await (await call({}, {}, '/v1/messages/count_tokens')).text();
  booked.resolve();
  assert.equal((await second).status, 200);
  await t.waitFor(() => assert.equal(context.budget.spent(), 1340));
});

test('an invalid path is refused and is not a failure of the provider', async (t) => {
  const { proxy } = await rawProxy(t, () => assert.fail('nobody is asked'));
  const { port } = new URL(proxy.url);
  const asked = request({ host: '127.0.0.1', port, path: '//', method: 'POST' }).end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  assert.equal(answer.statusCode, 404);
  assert.equal(proxy.failure(), undefined);
});

test('a call whose caller disconnects is ended at the provider, and the received part is charged', async (t) => {
  const { server, context, proxy, call } = await scriptedProxy(t, () => ({
    text: 'The sea is wide and',
    usage: USAGE,
    hang: true,
  }));
  const gone = new AbortController();
  const answer = await call({}, {}, undefined, gone.signal);
  const reader = answer.body?.getReader();
  await reader?.read();
  gone.abort();
  await t.waitFor(() => assert.equal(server.abandoned(), 1));
  await proxy[Symbol.asyncDispose]();
  const { inputTokens, outputTokens, source } = context.budget.usage();
  assert.deepEqual([inputTokens, source], [600, 'estimated'], "the provider's figure of the input");
  assert.ok(outputTokens < 10);
});

test('an abort of the run ends all calls at once, and disposal waits for their settlements', async (t) => {
  const { server, context, proxy, call } = await scriptedProxy(t, () => ({
    text: 'thinking',
    usage: USAGE,
    hang: true,
  }));
  const responses = await Promise.all([call(), call(), call()]);
  const bodies = responses.map((response) =>
    response.text().then(
      () => 'whole',
      () => 'cut',
    ),
  );
  context.controller.abort(new Error('enough'));
  assert.deepEqual(await Promise.all(bodies), ['cut', 'cut', 'cut']);
  await proxy[Symbol.asyncDispose]();
  assert.equal(server.abandoned(), 3);
  assert.equal(context.budget.usage().source, 'estimated');
  assert.ok(context.budget.spent() >= 1800, String(context.budget.spent()));
  await assert.rejects(call());
});

test('a stream that ends with an error is charged with the received part', async (t) => {
  const { context, proxy, call } = await scriptedProxy(t, () => ({
    text: 'The sea',
    usage: USAGE,
    breaksWith: 'overloaded_error',
  }));
  const answer = await call();
  await answer.text().catch(() => '');
  await proxy[Symbol.asyncDispose]();
  assert.equal(context.budget.usage().source, 'estimated');
  assert.ok(context.budget.spent() >= 600 && context.budget.spent() < 620, String(context.budget.spent()));
});

test('a response that exceeds max_tokens is cut off', async (t) => {
  const { server, context, proxy, call } = await scriptedProxy(
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
  assert.match(proxy.failure()?.message ?? '', /more than was requested/);
  await proxy[Symbol.asyncDispose]();
  const ordered = server.requests[0]?.max_tokens ?? 0;
  assert.ok(ordered > 0 && ordered < 1000);
  assert.equal(context.budget.usage().outputTokens, ordered);
});
