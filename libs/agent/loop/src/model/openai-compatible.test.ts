import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import {
  asked,
  call,
  type Delta,
  env,
  KEYED,
  type Reply,
  say,
  scriptedServer,
} from '../../testing/scripted-server.ts';

test('over the chat completions API, tool calls make a round trip and usage is metered', async (t) => {
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
  const offered = first?.tools?.map((tool) => tool.function.name) ?? [];
  for (const name of agent.capabilities().tools.slice(3)) assert.ok(offered.includes(name), name);
  assert.deepEqual(
    second?.messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool'],
  );
  const streamed = context.events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
  assert.equal(streamed, 'I write. All done.');
});

test('an unknown tool or invalid input is reported to the model, and the run continues', async (t) => {
  const server = await scriptedServer(t, (turn, request): Reply => {
    if (turn === 1) return { deltas: [call('c1', 'fly', { to: 'mars' })], finish: 'tool_calls' };
    if (turn === 2) return { deltas: [call('c2', 'read_file', { of: 'x' })], finish: 'tool_calls' };
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

test('the remaining budget limits the output of each step', async (t) => {
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

test('an abort ends a hanging call and settles its tokens', async (t) => {
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

test('a provider that refuses ends the run with what it said, without a charge and without secrets', async (t) => {
  const message = `Incorrect API key provided: key-1-long. Authorization: Bearer abcdefgh, you can find\n yours at ${'x'.repeat(400)}`;
  const server = await scriptedServer(t, () => ({
    status: 401,
    body: JSON.stringify({ error: { message } }),
  }));
  const agent = await makeAgent(
    t,
    { ...KEYED, base_url: server.url, headers: { 'x-team': 'Token team-blue-7' } },
    { env: { read: (name) => (name === 'MODEL_KEY' ? 'key-1-long' : undefined) } },
  );
  const context = makeContext({ limit: 50_000 });
  const result = await agent.executor.run(makeTask('Think'), context);
  assert.deepEqual([result.status, result.error?.code], ['error', 'model_failed']);
  const said = result.error?.message ?? '';
  assert.match(
    said,
    /answered 401; check its key in config\.yaml: Incorrect API key provided: \[redacted\]\. Authorization: .*yours at x+…$/,
  );
  assert.ok(said.length < 420, String(said.length));
  assert.doesNotMatch(JSON.stringify(result), /key-1-long|abcdefgh/);
  assert.equal(context.budget.spent(), 0);
});

test('a run that never finishes stops at its step limit', async (t) => {
  const server = await scriptedServer(
    t,
    (turn): Reply => ({ deltas: [call(`c${turn}`, 'list_files', {})], finish: 'tool_calls' }),
  );
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url, limits: { max_steps: 3 } }, { env });
  const result = await agent.executor.run(makeTask('x'), makeContext());
  assert.equal(result.status, 'partial');
  assert.match(result.remaining?.[0] ?? '', /limit of 3 steps/);
  assert.equal(server.requests.length, 4, 'the last one is for the wrap-up');
  assert.equal(server.requests[3]?.tool_choice, 'none');
});

test('a model that finishes without text is asked once for a reply', async (t) => {
  const server = await scriptedServer(t, (turn): Reply => {
    if (turn > 1) return turn === 2 ? { deltas: [], finish: 'stop' } : say('I looked.');
    return { deltas: [call('c1', 'list_files', {})], finish: 'tool_calls' };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const result = await agent.executor.run(makeTask('x'), makeContext());
  assert.deepEqual([result.status, result.text], ['done', 'I looked.']);
  assert.equal(server.requests.length, 3);
  assert.match(
    asked(server.requests[2] ?? assert.fail()),
    /^The reply does not fit\.\n- the reply has no text/,
  );
});

test('calls that reuse ids are carried out, also within one answer', async (t) => {
  const write = (path: string, index = 0): Delta => ({
    tool_calls:
      call('call_0', 'write_file', { path, content: path }).tool_calls?.map((one) => ({ ...one, index })) ??
      [],
  });
  const answers = [[write('a.txt')], [write('b.txt'), write('c.txt', 1)], [{ content: 'All there.' }]];
  const server = await scriptedServer(t, (turn): Reply => {
    const finish = turn < 3 ? 'tool_calls' : 'stop';
    return { deltas: answers[turn - 1] ?? assert.fail(), finish };
  });
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env });
  const result = await agent.executor.run(makeTask('x', { task: { priority: 'low' } }), makeContext());
  assert.deepEqual([result.status, result.text], ['done', 'All there.'], JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt', 'b.txt', 'c.txt']);
});

test('a usage far from the estimate is booked and logged; more cached tokens than were sent are not', async (t) => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 1,
    total_tokens: 11,
    prompt_tokens_details: { cached_tokens: 20 },
  };
  const server = await scriptedServer(t, () => ({ deltas: [{ content: 'Done.' }], finish: 'stop', usage }));
  const log = recordingLog();
  const agent = await makeAgent(t, { ...KEYED, base_url: server.url }, { env, log });
  const context = makeContext();
  assert.equal((await agent.executor.run(makeTask('x'), context)).status, 'done');
  const { inputTokens, cacheReadTokens, source } = context.budget.usage();
  assert.deepEqual([inputTokens, cacheReadTokens, source], [10, 0, 'metered']);
  assert.match(
    JSON.stringify(log.entries),
    /far from the estimate.*"input_tokens":10,"estimated_tokens":\d{4}/,
  );
});
