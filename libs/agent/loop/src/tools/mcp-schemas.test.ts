import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpTool } from '@hermes-fleet/mcp';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock, type Tool } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { createMcpTools, type McpToolCall } from './mcp-tools.ts';

const never = new AbortController().signal;
const task = makeTask('x');
const tool = (name: string, inputSchema: JsonObject): McpTool => ({ name, inputSchema, readOnly: true });
const object = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required,
});
const plain = tool('read', { type: 'object' });

/** Servers with these tools, which are healthy from the first `healthy` on. */
function openTools(lists: Readonly<Record<string, McpTool[]>>, tools?: string[]) {
  const inputs: JsonObject[] = [];
  const warnings: object[] = [];
  let state: 'ok' | 'error' = 'error';
  const names = Object.keys(lists);
  const made = createMcpTools(
    {
      health: () => Object.fromEntries(names.map((name) => [name, { state, detail: '', checkedAt: 1 }])),
      listTools: async (name) => lists[name] ?? [],
      async callTool(_server, _tool, input) {
        inputs.push(input);
        return { isError: false, content: '' };
      },
    },
    {
      mcp: {
        servers: Object.fromEntries(names.map((name) => [name, { url: 'http://127.0.0.1:9/', tools }])),
      },
      tools: { mcp: { enabled: true } },
    },
    { clock: systemClock, log: { ...silentLog, warn: (fields: object) => void warnings.push(fields) } },
  );
  function healthy(): void {
    state = 'ok';
  }
  return { ...made, inputs, warnings, healthy };
}

const names = (tools: readonly Tool<McpToolCall>[]): string[] => tools.map(({ name }) => name);

function callOf(): McpToolCall {
  const workspace = { dir: '/', wrap: () => assert.fail('all tasks share the server') };
  return {
    ...makeContext(),
    workspace,
    task,
    key: '1.0',
    memo: { load: () => undefined, save: async () => {} },
  };
}

test('a tool whose schema has alternatives at the top gets its input without the wrapper', async () => {
  const by = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } });
  const { source, healthy, inputs } = openTools({
    files: [tool('find', { type: 'object', oneOf: [by('id'), by('name')] })],
  });
  healthy();
  const [find] = await source(task, never);
  assert.deepEqual(find?.parameters.required, ['input']);
  // As the schema says, as a text, and without the wrapper.
  for (const input of [{ input: { id: 'a' } }, { input: '{"id":"a"}' }, { id: 'a' }])
    await find?.run(input, callOf());
  assert.deepEqual(inputs, [{ id: 'a' }, { id: 'a' }, { id: 'a' }]);
});

test('a wrapper that is left out is not taken for a field of that name', async () => {
  const by = (name: string, type: string) => object({ [name]: { type } }, [name]);
  const { source, healthy, inputs } = openTools({
    shell: [tool('run', { type: 'object', oneOf: [by('input', 'object'), by('script', 'string')] })],
  });
  healthy();
  const [run] = await source(task, never);
  for (const input of [
    { input: { lines: 2 } },
    { input: { input: { lines: 2 } } },
    { input: { script: 'a' } },
  ])
    await run?.run(input, callOf());
  assert.deepEqual(inputs, [{ input: { lines: 2 } }, { input: { lines: 2 } }, { script: 'a' }]);
});

test('a schema that cannot be sent is named once for a list of tools, before any task', async () => {
  const bad = tool('bad', { type: 'object', properties: { a: { $ref: 'https://example.org' } } });
  const { source, examine, leftOut, warnings, healthy } = openTools({ odd: [plain, bad], well: [plain] });
  await examine();
  assert.equal(leftOut().size, 0);
  healthy();
  await examine();
  const why = ['bad: its schema refers to https://example.org, which it does not have'];
  assert.deepEqual(Object.fromEntries(leftOut()), { odd: why, well: [] });
  const first = await source(task, never);
  const second = await source(task, never);
  assert.deepEqual(names(first), ['mcp__odd__read', 'mcp__well__read']);
  assert.equal(first[0], second[0]);
  assert.deepEqual(warnings, [{ server: 'odd', left_out: why }]);
});

test('what is left out is that of the list of now, with the keys of config.yaml first, and the rest counted', async () => {
  const bad = (index: number) => tool(`t${index}`, { type: 'string' });
  const lists = { odd: [plain, ...Array.from({ length: 24 }, (_, index) => bad(index))] };
  const names = [...lists.odd.map(({ name }) => name), 'gone'];
  const { examine, leftOut, healthy } = openTools(lists, names);
  healthy();
  await examine();
  const told = leftOut().get('odd') ?? [];
  assert.deepEqual([told.length, told[0], told.at(-1)], [21, 'gone: it has no such tool', 'and 5 more']);
  lists.odd = lists.odd.map(({ name }) => tool(name, { type: 'object' }));
  await Promise.all([examine(), examine()]);
  assert.deepEqual(leftOut().get('odd'), ['gone: it has no such tool']);
});

test('a task that requires a server of which no tool can be sent is blocked, and one tool is enough', async (t) => {
  const bad = tool('bad', { type: 'string' });
  const { source, healthy } = openTools({ odd: [bad], mixed: [plain, bad] });
  healthy();
  const agent = await makeAgent(t, {}, { sources: [source] });
  const run = (requiredMcp: string[]) =>
    agent.executor.run(
      { ...task, dispatch: { ...task.dispatch, requirements: { requiredMcp } } },
      makeContext(),
    );
  const { status, unmet } = await run(['odd']);
  assert.equal(status, 'blocked');
  assert.deepEqual(unmet, [
    {
      kind: 'mcp',
      name: 'odd',
      detail:
        'no tool of the required MCP server odd can be sent to a model: bad: its schema is of type "string", not of an object',
      transient: false,
    },
  ]);
  assert.notEqual((await run(['mixed'])).status, 'blocked');
});

test('a very wide schema is left out and does not affect the tools of other servers', async () => {
  const wide = tool('wide', { type: 'object', enum: Array.from({ length: 300_000 }, () => 1) });
  const { source, healthy } = openTools({ odd: [wide], well: [plain] });
  healthy();
  assert.deepEqual(names(await source(task, never)), ['mcp__well__read']);
});
