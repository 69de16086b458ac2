import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { makeAgent, makeContext, makeTask } from '../testing/harness.ts';

const ChatRequest = z.looseObject({
  model: z.string(),
  max_tokens: z.int(),
  messages: z.array(z.looseObject({ role: z.string() })),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
});
type ChatRequest = z.output<typeof ChatRequest>;

type Delta = { content?: string; tool_calls?: object[] };
type Reply =
  | { deltas: Delta[]; finish: string; usage?: object; wait?: undefined }
  | { status: number; body: string }
  | { hang: true; deltas: Delta[] };

/** A chat completions server on loopback that answers from a script, one entry a call. */
async function scriptedServer(t: TestContext, script: (call: number, request: ChatRequest) => Reply) {
  const requests: ChatRequest[] = [];
  const keys: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    keys.push(request.headers.authorization);
    const body = ChatRequest.parse(JSON.parse(await text(request)));
    requests.push(body);
    const reply = script(requests.length, body);
    if ('status' in reply) {
      response.writeHead(reply.status).end(reply.body);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const id = `chatcmpl-${requests.length}`;
    const send = (rest: object): void => {
      response.write(
        `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: 1, model: 'm', ...rest })}\n\n`,
      );
    };
    for (const delta of reply.deltas) send({ choices: [{ index: 0, delta }] });
    if ('hang' in reply) return;
    send({ choices: [{ index: 0, delta: {}, finish_reason: reply.finish }] });
    if (reply.usage) send({ choices: [], usage: reply.usage });
    response.end('data: [DONE]\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { url: `http://127.0.0.1:${address.port}/v1`, requests, keys };
}

async function text(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}

const call = (id: string, name: string, args: object): Delta => ({
  tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
});

const KEYED = { model: 'openai-compatible/m', api_key_env: 'MODEL_KEY' };
const env = { read: (name: string): string | undefined => (name === 'MODEL_KEY' ? 'key-1' : undefined) };

test('a model on the wire: a tool call round trip, metered', async (t) => {
  const server = await scriptedServer(t, (turn): Reply => {
    if (turn === 1) {
      const usage = {
        prompt_tokens: 700,
        completion_tokens: 20,
        total_tokens: 720,
        prompt_tokens_details: { cached_tokens: 100 },
      };
      return {
        deltas: [{ content: 'I write. ' }, call('call-1', 'write_file', { path: 'a.txt', content: 'A' })],
        finish: 'tool_calls',
        usage,
      };
    }
    if (turn === 2) {
      return {
        deltas: [call('call-2', 'read_file', { path: 'a.txt' })],
        finish: 'tool_calls',
        usage: { prompt_tokens: 750, completion_tokens: 10 },
      };
    }
    return {
      deltas: [{ content: 'All ' }, { content: 'done.' }],
      finish: 'stop',
      usage: { prompt_tokens: 800, completion_tokens: 5 },
    };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const context = makeContext({ limit: 50_000 });
  const result = await agent.executor.run(
    makeTask('Write A to a.txt', { task: { replySchema: 'structured' } }),
    context,
  );
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.equal(result.text, 'All done.');
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
  assert.deepEqual(result.evidence, [{ kind: 'reread', detail: 'a.txt', afterWrite: true }]);
  const usage = context.budget.usage();
  assert.deepEqual(
    [usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.source],
    [600 + 750 + 800, 35, 100, 'metered'],
  );
  assert.equal(server.keys[0], 'Bearer key-1');
  const [first, second] = server.requests;
  assert.equal(first?.model, 'm');
  assert.ok((first?.max_tokens ?? 0) <= 8192);
  assert.deepEqual(
    first?.tools?.map((tool) => tool.function.name),
    ['read_file', 'write_file', 'edit_file', 'list_files', 'shell_exec'],
  );
  assert.deepEqual(
    second?.messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool'],
  );
  const streamed = context.events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
  assert.equal(streamed, 'I write. All done.');
});

test('unknown tools and wrong input go back to the model, which goes on', async (t) => {
  const server = await scriptedServer(t, (turn, request): Reply => {
    if (turn === 1) return { deltas: [call('c1', 'fly', { to: 'mars' })], finish: 'tool_calls' };
    if (turn === 2) return { deltas: [call('c2', 'read_file', { file: 'x' })], finish: 'tool_calls' };
    assert.match(JSON.stringify(request.messages), /wrong input/);
    return {
      deltas: [
        { content: 'I could not.\n\n```outcome\n{"status":"partial","remaining":["fly to mars"]}\n```' },
      ],
      finish: 'stop',
    };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const context = makeContext();
  const result = await agent.executor.run(makeTask('Fly'), context);
  assert.equal(result.status, 'partial', JSON.stringify(result));
  assert.deepEqual(result.remaining, ['fly to mars']);
  assert.equal(result.text, 'I could not.');
  const streamed = context.events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
  assert.equal(streamed.trim(), 'I could not.');
  assert.equal(context.budget.usage().source, 'estimated', 'the server gave no usage');
  assert.ok(context.budget.spent() > 0);
});

test('the output of each step is bounded by what is left of the budget', async (t) => {
  const server = await scriptedServer(t, (turn, { max_tokens: room }): Reply => {
    const usage = { prompt_tokens: 500, completion_tokens: Math.min(room, 400) };
    return { deltas: [call(`c${turn}`, 'list_files', {})], finish: 'tool_calls', usage };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const context = makeContext({ limit: 2000 });
  const result = await agent.executor.run(makeTask('List'), context);
  assert.equal(result.status, 'partial');
  assert.ok(server.requests.length >= 2 && server.requests.length < 5);
  assert.ok(server.requests.every(({ max_tokens: room }) => room < 2000));
  assert.ok(context.budget.spent() <= 2000 + 500, String(context.budget.spent()));
});

test('an abort reaches a model that hangs, and what was spent is settled', async (t) => {
  const server = await scriptedServer(t, () => ({ deltas: [{ content: 'thinking' }], hang: true }));
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const reason = new FleetError('CANCELED', 'canceled by the caller');
  const context = makeContext({
    limit: 50_000,
    onEvent: (event) => {
      if (event.type === 'text') context.controller.abort(reason);
    },
  });
  const result = await agent.executor.run(makeTask('Think'), context);
  assert.deepEqual([result.status, result.error?.code], ['error', 'canceled']);
  const usage = context.budget.usage();
  assert.equal(usage.source, 'estimated');
  assert.ok(
    usage.inputTokens > 100 && usage.outputTokens > 0 && usage.outputTokens < 10,
    JSON.stringify(usage),
  );
});

test('a refusing provider ends in error, in our words, without a charge', async (t) => {
  const server = await scriptedServer(t, () => ({
    status: 401,
    body: '{"error":{"message":"secret detail"}}',
  }));
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const context = makeContext({ limit: 50_000 });
  const result = await agent.executor.run(makeTask('Think'), context);
  assert.equal(result.status, 'error');
  assert.equal(result.error?.code, 'model_failed');
  assert.match(result.error?.message ?? '', /answered 401; check its key/);
  assert.doesNotMatch(JSON.stringify(result), /secret detail/);
  assert.equal(context.budget.spent(), 0);
});

test('a JSON reply that is none, and a structured one without a check, are partial', async (t) => {
  const server = await scriptedServer(t, (turn): Reply => {
    if (turn === 2)
      return { deltas: [call('c', 'write_file', { path: 'a', content: 'b' })], finish: 'tool_calls' };
    return { deltas: [{ content: 'sure, done' }], finish: 'stop' };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const json = await agent.executor.run(makeTask('x', { task: { replySchema: 'json' } }), makeContext());
  assert.deepEqual([json.status, json.remaining], ['partial', ['the reply is not JSON']]);
  const structured = makeTask('x', { task: { replySchema: 'structured' } });
  const unverified = await agent.executor.run(structured, makeContext());
  assert.deepEqual(
    [unverified.status, unverified.remaining],
    ['partial', ['nothing was verified after the last write']],
  );
});

test('a run that never ends stops at its step limit', async (t) => {
  const server = await scriptedServer(
    t,
    (turn): Reply => ({ deltas: [call(`c${turn}`, 'list_files', {})], finish: 'tool_calls' }),
  );
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url, limits: { max_steps: 3 } }, { env });
  const result = await agent.executor.run(makeTask('x'), makeContext());
  assert.equal(result.status, 'partial');
  assert.match(result.remaining?.[0] ?? '', /limit of 3 steps/);
  assert.equal(server.requests.length, 3);
});

test('a model that has nothing to add after a tool call has finished', async (t) => {
  const server = await scriptedServer(t, (turn): Reply => {
    if (turn > 1) return { deltas: [], finish: 'stop' };
    return { deltas: [call('c1', 'list_files', {})], finish: 'tool_calls' };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const result = await agent.executor.run(makeTask('x'), makeContext());
  assert.equal(result.status, 'done');
  assert.equal(server.requests.length, 2);
});

test('a usage that cannot be true is replaced by an estimate', async (t) => {
  const server = await scriptedServer(t, (): Reply => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 1,
      total_tokens: 11,
      prompt_tokens_details: { cached_tokens: 20 },
    };
    return { deltas: [{ content: 'Done.' }], finish: 'stop', usage };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const context = makeContext();
  assert.equal((await agent.executor.run(makeTask('x'), context)).status, 'done');
  const { inputTokens, source } = context.budget.usage();
  assert.deepEqual([inputTokens > 100, source], [true, 'estimated']);
});
