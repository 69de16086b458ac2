import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createMcpPool, type McpPool, type McpServerConfig } from '@hermes-fleet/mcp';
import {
  type AdmittedTask,
  type Clock,
  type Log,
  systemClock,
  type Tool,
  type Tracing,
} from '@hermes-fleet/protocol/ports';
import { recordingTracing, silentLog } from '@hermes-fleet/protocol/testing';
import { block, makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { createMcpTools, type McpToolCall } from './mcp-tools.ts';

const SERVER = fileURLToPath(new URL('../../testing/mcp-server.ts', import.meta.url));
const never = new AbortController().signal;
const read = { name: 'read', annotations: { readOnlyHint: true } };
const write = { name: 'write' };

const server = (tools: unknown, extra: object = {}): McpServerConfig => ({
  command: process.execPath,
  args: [SERVER, JSON.stringify(tools)],
  scope: 'profile',
  ...extra,
});

interface Warning {
  readonly server?: string;
  readonly reason?: string;
  readonly left_out?: readonly string[];
}

function openSource(
  t: TestContext,
  servers: Record<string, McpServerConfig>,
  options: {
    clock?: Clock;
    enabled?: boolean;
    tracing?: Tracing;
  } = {},
) {
  const warnings: Warning[] = [];
  const log: Log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
  const { clock = systemClock, enabled = true, tracing } = options;
  const pool = createMcpPool({ servers, clock: systemClock, log: silentLog });
  t.after(() => pool.close());
  const config = { mcp: { servers }, tools: { mcp: { enabled } } };
  return { ...createMcpTools(pool, config, { clock, log, tracing }), pool, warnings };
}

const ready = (pool: McpPool, name: string) => pool.probe(name, { maxAgeMs: 0, timeoutMs: 20_000 });
const names = (tools: readonly Tool<McpToolCall>[]): string[] => tools.map(({ name }) => name);
const as = (scopes: string[], name = 'trinity'): AdmittedTask => ({
  ...makeTask('x'),
  caller: { name, scopes: new Set(scopes) },
});

function callOf(task: AdmittedTask): McpToolCall & { controller: AbortController; pausing: AbortController } {
  const workspace = { dir: '/', wrap: () => assert.fail('all tasks share the server') };
  return {
    ...makeContext(),
    workspace,
    task,
    key: '1.0',
    memo: { load: () => undefined, save: async () => {} },
  };
}

const find = (tools: readonly Tool<McpToolCall>[], name: string): Tool<McpToolCall> =>
  tools.find((tool) => tool.name === name) ?? assert.fail(names(tools).join());

test('every tool of every server is offered, and calls are made on behalf of the caller', {
  timeout: 60_000,
}, async (t) => {
  const schema = {
    type: 'object',
    properties: { to: { $ref: '#/$defs/place' } },
    $defs: { place: { type: 'string' } },
  };
  const { pool, source } = openSource(t, {
    files: server([read, { ...write, description: ' writes ', inputSchema: schema }]),
    'my.notes': server([read]),
  });
  await Promise.all(pool.names().map((name) => ready(pool, name)));
  const task = as(['dispatch']);
  const tools = await source(task, never);
  assert.equal(tools.length, 3);
  assert.deepEqual(names(tools).slice(0, 2), ['mcp__files__read', 'mcp__files__write']);
  assert.match(names(tools)[2] ?? '', /^mcp__my_notes-[0-9a-f]{8}__read$/);
  assert.deepEqual(
    tools.slice(0, 2).map(({ mutates, repeatable }) => [mutates, repeatable]),
    [
      [false, true],
      [true, false],
    ],
  );
  const writing = find(tools, 'mcp__files__write');
  const sent = { type: 'object', properties: { to: { type: 'string' } } };
  assert.deepEqual([writing.description, writing.parameters], ['writes', sent]);
  const result = await writing.run({ to: 'Zion' }, callOf(task));
  assert.deepEqual([result.ok, result.detail], [true, 'files: write']);
  assert.deepEqual(JSON.parse(String(result.output)), {
    name: 'write',
    input: { to: 'Zion' },
    meta: { on_behalf_of: 'trinity', task_id: task.id },
  });
  const traced = { ...task, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  const { output } = await writing.run({}, callOf(traced));
  assert.equal(JSON.parse(String(output)).meta.traceparent, traced.traceparent);
  const refused = await writing.run('Zion', callOf(task));
  assert.deepEqual(refused, { ok: false, output: 'wrong input: it must be an object' });
});

test('the loop calls MCP tools like any other tool, and a failure is a result', {
  timeout: 60_000,
}, async (t) => {
  const { pool, source } = openSource(t, { files: server([read, { name: 'fail' }]) });
  await ready(pool, 'files');
  const agent = await makeAgent(t, {}, { sources: [source] });
  const reading = block('tool mcp__files__read', '{"path": "a"}');
  const good = await agent.executor.run(makeTask(reading), makeContext());
  assert.equal(good.status, 'done', JSON.stringify(good));
  assert.match(good.text ?? '', /called mcp__files__read: ok\n.*"path":"a".*"on_behalf_of":"tester"/);
  const failing = makeTask(reading + block('tool mcp__files__fail', '{}'), { contextId: 'c2' });
  const bad = await agent.executor.run(failing, makeContext());
  assert.equal(bad.status, 'partial');
  assert.match(bad.text ?? '', /called mcp__files__fail: failed/);
});

test('a call is a span in the trace of its tool, which the server gets, and one that fails says so', {
  timeout: 60_000,
}, async (t) => {
  const tracing = recordingTracing();
  const { pool, source } = openSource(t, { files: server([read, { name: 'fail' }]) }, { tracing });
  await ready(pool, 'files');
  const agent = await makeAgent(t, {}, { sources: [source], tracing });
  const brief = block('tool mcp__files__read', '{}') + block('tool mcp__files__fail', '{}');
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { text = '' } = await agent.executor.run({ ...makeTask(brief), traceparent }, makeContext());
  const [reading, failing] = ['read', 'fail'].map((tool) => tracing.only(`tools/call ${tool}`));
  assert.equal(reading?.parent, tracing.only('execute_tool mcp__files__read').traceparent);
  assert.ok(text.includes(`"traceparent":"${reading?.traceparent}"`), text);
  assert.deepEqual(
    [reading?.kind, reading?.failure, reading?.attributes['hermes.mcp.server']],
    ['client', undefined, 'files'],
  );
  assert.equal(failing?.failure, 'tool_error');
});

test('the tools of a server with a caller_scope are offered only to callers with that scope', {
  timeout: 60_000,
}, async (t) => {
  const { pool, source } = openSource(t, {
    trader: server([write], { caller_scope: 'trader:decide' }),
    open: server([read]),
  });
  await Promise.all(pool.names().map((name) => ready(pool, name)));
  assert.deepEqual(names(await source(as(['dispatch']), never)), ['mcp__open__read']);
  assert.deepEqual(names(await source(as(['dispatch', 'trader:decide']), never)), [
    'mcp__trader__write',
    'mcp__open__read',
  ]);
});

test('config.yaml turns off all servers, one server, or some tools of a server', {
  timeout: 60_000,
}, async (t) => {
  const servers = {
    some: server([read, write], { tools: ['write', 'gone'] }),
    off: server([read], { disabled: true }),
  };
  const { pool, source, warnings } = openSource(t, servers);
  await ready(pool, 'some');
  assert.deepEqual(names(await source(as([]), never)), ['mcp__some__write']);
  assert.deepEqual(warnings[0]?.left_out, ['gone: it has no such tool']);
  const off = openSource(t, servers, { enabled: false });
  await ready(off.pool, 'some');
  assert.deepEqual(await off.source(as([]), never), []);
});

/** The system clock, except that timers of the given lengths fire manually. */
function handClock(...held: number[]) {
  const waits = new Set<{ ms: number; fn: () => void }>();
  const clock: Clock = {
    ...systemClock,
    timer: (fn, ms) => {
      if (!held.includes(ms)) return systemClock.timer(fn, ms);
      const wait = { ms, fn };
      waits.add(wait);
      return { [Symbol.dispose]: () => void waits.delete(wait) };
    },
  };
  return {
    clock,
    waiting: () => [...waits].map(({ ms }) => ms),
    fire: () => {
      for (const { fn } of waits) fn();
    },
  };
}

test('a server that does not list its tools delays a run for 2 s, and for 10 s when the task requires it', {
  timeout: 60_000,
}, async (t) => {
  const time = handClock(2_000, 10_000);
  const { pool, source, warnings } = openSource(t, { mute: server(null), files: server([read]) }, time);
  await Promise.all(pool.names().map((name) => ready(pool, name)));
  await pool.listTools('files');
  const task = as([]);
  const requiring = { ...task, dispatch: { ...task.dispatch, requirements: { requiredMcp: ['mute'] } } };
  const runs = Promise.all([source(task, never), source(requiring, never)]);
  await nextTurn();
  assert.deepEqual(time.waiting(), [2_000, 10_000]);
  time.fire();
  for (const tools of await runs) assert.deepEqual(names(tools), ['mcp__files__read']);
  assert.deepEqual(
    warnings.map(({ server: which, reason }) => [which, reason]),
    [2_000, 10_000].map((ms) => ['mute', `it did not list its tools within ${ms} ms`]),
  );
  const gone = new AbortController();
  gone.abort(new Error('canceled'));
  await assert.rejects(source(task, gone.signal), /canceled/);
});

test('a server that is known to be down causes no delay', { timeout: 60_000 }, async (t) => {
  const down = server([], { args: ['-e', 'process.exit(5)'] });
  const clock: Clock = { ...systemClock, timer: () => assert.fail('nothing to wait for') };
  const { pool, source, warnings } = openSource(t, { down }, { clock });
  await ready(pool, 'down');
  assert.deepEqual(await source(as([]), never), []);
  assert.deepEqual([warnings[0]?.server, warnings[0]?.reason], ['down', 'process exited with code 5']);
});

test('oversized schemas are left out, long descriptions are cut, and a server gets at most 100 tools', {
  timeout: 60_000,
}, async (t) => {
  const deep = JSON.parse(`${'{"type":"array","items":'.repeat(40)}{}${'}'.repeat(40)}`) as object;
  const many = Array.from({ length: 120 }, (_, index) => ({ name: `t${index}` }));
  const { pool, source, warnings } = openSource(t, {
    odd: server([
      { name: 'big', inputSchema: { type: 'object', description: 'x'.repeat(20_000) } },
      { name: 'deep', inputSchema: { type: 'object', properties: { deep } } },
      { name: 'wordy', description: 'w'.repeat(5_000) },
      { name: 'twice' },
      { name: 'twice' },
    ]),
    many: server(many),
  });
  await Promise.all(pool.names().map((name) => ready(pool, name)));
  const tools = await source(as([]), never);
  assert.equal(tools.length, 102);
  assert.deepEqual(names(tools).slice(0, 3), ['mcp__odd__wordy', 'mcp__odd__twice', 'mcp__many__t0']);
  assert.equal(find(tools, 'mcp__odd__wordy').description.length, 1_001);
  const odd = warnings.find(({ server: which }) => which === 'odd')?.left_out ?? [];
  assert.match(odd[0] ?? '', /^big: its schema takes 20\d+ characters$/);
  assert.equal(odd[1], 'deep: its schema is nested deeper than 32');
});

test('a cancel ends any call, and a stop ends calls that can be repeated', { timeout: 60_000 }, async (t) => {
  const { pool, source } = openSource(t, {
    slow: server([{ name: 'hang', annotations: { readOnlyHint: true } }]),
  });
  await ready(pool, 'slow');
  const tool = find(await source(as([]), never), 'mcp__slow__hang');
  for (const which of ['controller', 'pausing'] as const) {
    const call = callOf(as([]));
    const reason = new Error(which);
    const running = tool.run({}, call);
    call[which].abort(reason);
    await assert.rejects(running, reason);
  }
});
