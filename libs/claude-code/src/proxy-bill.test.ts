import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { AgentConfigSchema, createModel } from '@hermes-fleet/agent';
import { makeContext, memoryTokens } from '@hermes-fleet/agent/testing';
import { quietLog, SECRET } from '@hermes-fleet/workspace/testing';
import { openMeteringProxy } from './metering-proxy.ts';

const NAME = 'claude-sonnet-4-5';
const env = { read: (name: string) => (name === 'ANTHROPIC_API_KEY' ? SECRET : undefined) };
const ASKED = {
  model: NAME,
  max_tokens: 4096,
  stream: true,
  tools: [{ name: 'Read' }],
  messages: [{ role: 'user', content: 'Write about the sea. '.repeat(100) }],
};

/** A proxy in front of a provider that answers a call by hand. */
async function behind(
  t: TestContext,
  answer: (response: ServerResponse, call: number) => void,
  o: Parameters<typeof makeContext>[0] = {},
) {
  let calls = 0;
  const server = createServer((asked, response) => {
    calls += 1;
    asked.resume();
    answer(response, calls);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const context = makeContext(o);
  const config = AgentConfigSchema.parse({ model: `anthropic/${NAME}` });
  const proxy = await openMeteringProxy({
    upstream: `http://127.0.0.1:${address.port}`,
    apiKey: SECRET,
    modelName: NAME,
    countCache: false,
    model: await createModel(config, 'sonnet', env),
    budget: context.budget,
    signal: context.signal,
    log: quietLog,
  });
  t.after(() => proxy[Symbol.asyncDispose]());
  const call = (body: object = {}, signal: AbortSignal | null = null, path = '/v1/messages') =>
    fetch(`${proxy.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': proxy.key },
      body: JSON.stringify({ ...ASKED, ...body }),
      signal,
    });
  return { context, proxy, call };
}

const streamed = (response: ServerResponse, ...events: readonly { readonly type: string }[]): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
};
const START = { type: 'message_start', message: { usage: { input_tokens: 600, output_tokens: 1 } } };
const END = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 70 } };

test('an answer that breaks off before its first word is charged by what was expected', async (t) => {
  const { context, proxy, call } = await behind(t, (response) => {
    streamed(response, { type: 'ping' });
    response.end();
  });
  await (await call()).text().catch(() => '');
  await proxy[Symbol.asyncDispose]();
  assert.ok(context.budget.spent() > 400, String(context.budget.spent()));
  assert.deepEqual([proxy.failure()?.code, proxy.failure()?.retryable], ['MODEL_FAILED', true]);
  assert.match(proxy.failure()?.message ?? '', /broke off/);
});

test('an answer that is not streamed and breaks off is charged with the output that arrived', async (t) => {
  const { context, proxy, call } = await behind(t, (response) => {
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

test('a bill that has come stands, though the connection breaks behind it', async (t) => {
  const { context, proxy, call } = await behind(t, (response) => streamed(response, START, END));
  const gone = new AbortController();
  const reader = (await call({}, gone.signal)).body?.getReader();
  let seen = '';
  while (!seen.includes('message_delta')) seen += new TextDecoder().decode((await reader?.read())?.value);
  gone.abort();
  await t.waitFor(() => assert.equal(context.budget.usage().source, 'metered'));
  await proxy[Symbol.asyncDispose]();
  assert.equal(context.budget.spent(), 670);
});

test('a call finds what the one before it left over, however long that takes to be booked', async (t) => {
  const store = memoryTokens();
  const booked = Promise.withResolvers<void>();
  const slow = {
    ...store,
    async settle(...entry: Parameters<typeof store.settle>) {
      await booked.promise;
      await store.settle(...entry);
    },
  };
  const { context, call } = await behind(
    t,
    (response) => {
      streamed(response, START, END);
      response.end();
    },
    { limit: 3000, store: slow },
  );
  await (await call()).text();
  const second = call();
  // It has come in when one behind it is answered.
  await (await call({}, null, '/v1/messages/count_tokens')).text();
  booked.resolve();
  assert.equal((await second).status, 200);
  await t.waitFor(() => assert.equal(context.budget.spent(), 1340));
});

test('an address that is none is refused like any other, and is no failure of the provider', async (t) => {
  const { proxy } = await behind(t, () => assert.fail('nobody is asked'));
  const { port } = new URL(proxy.url);
  const asked = request({ host: '127.0.0.1', port, path: '//', method: 'POST' }).end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  assert.equal(answer.statusCode, 404);
  assert.equal(proxy.failure(), undefined);
});
