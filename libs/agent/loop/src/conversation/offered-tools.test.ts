import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { type Clock, systemClock, type Tool } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import {
  type ChatRequest,
  env,
  KEYED,
  type Reply,
  say,
  scriptedServer,
} from '../../testing/scripted-server.ts';

const outside = (name: string, parameters: JsonObject = { type: 'object' }): Tool => ({
  name,
  description: 'A tool of a server.',
  parameters,
  mutates: false,
  repeatable: true,
  run: async () => ({ ok: true, output: 'found' }),
});

const sentNames = ({ tools = [] }: ChatRequest): string[] => tools.map((tool) => tool.function.name);

/** As OpenAI refuses a definition. */
function refuse(request: ChatRequest, name: string): Reply {
  const param = `tools[${sentNames(request).indexOf(name)}].function.parameters`;
  const error = {
    message: `Invalid schema for function '${name}'`,
    param,
    code: 'invalid_function_parameters',
  };
  return { status: 400, body: JSON.stringify({ error }) };
}

/** An agent whose provider refuses the first of these tools that it is sent, and then answers. */
async function pickyAgent(t: TestContext, refused: readonly string[], sources: readonly Tool[]) {
  const server = await scriptedServer(t, (_turn, request) => {
    const found = sentNames(request).find((name) => refused.includes(name));
    return found === undefined ? say('Nothing to do.') : refuse(request, found);
  });
  const warnings: object[] = [];
  const agent = await makeAgent(
    t,
    { ...KEYED, base_url: server.url },
    {
      env,
      sources: [async () => sources],
      log: { ...silentLog, warn: (fields: object) => void warnings.push(fields) },
    },
  );
  const dispatched = (requiredMcp: string[] = []) => {
    const task = makeTask('Say hello.');
    return { ...task, dispatch: { ...task.dispatch, requirements: { requiredMcp } } };
  };
  return {
    run: (requiredMcp?: string[]) => agent.executor.run(dispatched(requiredMcp), makeContext()),
    requests: server.requests,
    leftOut: () => warnings.flatMap((fields) => ('tools' in fields ? [fields.tools] : [])),
  };
}

const DOCS = [outside('mcp__docs__find'), outside('mcp__docs__list')];

test('a tool whose definition the provider refuses is left out, also of the next tasks, and said once', async (t) => {
  const { run, requests, leftOut } = await pickyAgent(t, ['mcp__docs__find'], DOCS);
  assert.equal((await run()).status, 'done');
  assert.equal((await run()).status, 'done');
  const sent = requests.map((request) => sentNames(request).filter((name) => name.startsWith('mcp__')));
  assert.deepEqual(sent, [['mcp__docs__find', 'mcp__docs__list'], ['mcp__docs__list'], ['mcp__docs__list']]);
  assert.deepEqual(leftOut(), [['mcp__docs__find']]);
});

test('a definition that has changed is sent again', async (t) => {
  const tools = [...DOCS];
  const { run, requests } = await pickyAgent(t, ['mcp__docs__find'], tools);
  await run();
  tools[0] = outside('mcp__docs__find', { type: 'object', properties: { name: { type: 'string' } } });
  await run();
  assert.equal(requests.filter((request) => sentNames(request).includes('mcp__docs__find')).length, 2);
});

test('a request is sent again at most 5 times', async (t) => {
  const tools = Array.from({ length: 8 }, (_, index) => outside(`mcp__docs__t${index}`));
  const { run, requests } = await pickyAgent(
    t,
    tools.map(({ name }) => name),
    tools,
  );
  const result = await run();
  assert.equal(result.status, 'error');
  assert.match(result.error?.message ?? '', /answered 400: Invalid schema for function 'mcp__docs__t5'/);
  assert.equal(requests.length, 6);
  assert.equal((await run()).status, 'done');
});

test('a tool of a required MCP server is never left out: the task is blocked', async (t) => {
  const { run, requests, leftOut } = await pickyAgent(t, ['mcp__docs__find'], DOCS);
  for (const _each of [1, 2]) {
    const result = await run(['docs']);
    assert.equal(result.status, 'blocked');
    assert.match(
      result.blockedReason ?? '',
      /cannot use mcp__docs__find of the required MCP server docs: .*400/,
    );
    assert.deepEqual(
      result.unmet?.map(({ kind, name, transient }) => [kind, name, transient]),
      [['mcp', 'docs', false]],
    );
  }
  assert.equal(requests.length, 2);
  assert.deepEqual(leftOut(), []);
});

test('what a fallback refuses is left out for that model only, also while it is called first', async (t) => {
  let isAway = true;
  const one = await scriptedServer(t, () => (isAway ? { status: 401, body: '{}' } : say('From one.')));
  const two = await scriptedServer(t, (_turn, request) => {
    const found = sentNames(request).find((name) => name.startsWith('mcp__'));
    return found === undefined ? say('From two.') : refuse(request, found);
  });
  let offset = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + offset };
  const other = { model: 'openai-compatible/two', base_url: two.url };
  const config = { ...KEYED, base_url: one.url, fallback_models: [other], model_calls: { patience_s: 0 } };
  const agent = await makeAgent(t, config, { env, clock, sources: [async () => DOCS] });
  const run = () => agent.executor.run(makeTask('Say hello.'), makeContext());
  assert.equal((await run()).text, 'From two.');
  assert.equal((await run()).text, 'From two.');
  isAway = false;
  offset = 60_000;
  assert.equal((await run()).text, 'From one.');
  const sent = [one, two].map(({ requests }) =>
    requests.map((request) => sentNames(request).filter((name) => name.startsWith('mcp__')).length),
  );
  assert.deepEqual(sent, [
    [2, 2],
    [2, 1, 0, 0],
  ]);
});
