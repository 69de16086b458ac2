import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineTool, type Tool } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { z } from 'zod';
import { makeTask } from '../../testing/harness.ts';
import { createToolbox, fit } from './toolbox.ts';

const never = new AbortController().signal;

const tool = (name: string, description = name): Tool =>
  defineTool({
    name,
    description,
    mutates: false,
    inputSchema: z.strictObject({}),
    run: async () => ({ ok: true, output: null }),
  });

const names = (tools: readonly { name: string }[]): string[] => tools.map(({ name }) => name);
const ALL = [
  'shell_exec',
  'read_file',
  'memory_read',
  'memory_write',
  'mcp__files__read',
  'mcp__files__list',
].map((name) => tool(name, name.padEnd(200, '.')));

test('without a budget limit, all tools are offered', () => {
  assert.deepEqual(fit(ALL, makeTask('x'), undefined), { tools: ALL, leftOut: [] });
});

test('a limited budget gets the workspace tools, and the groups that a twentieth of it pays for', () => {
  const long = ALL.map(({ name }) => tool(name, name.padEnd(600, '.')));
  const offered = (limit: number) => {
    const { tools, leftOut } = fit(long, makeTask('x'), limit);
    return [names(tools).slice(2), leftOut];
  };
  assert.deepEqual(offered(100), [[], ['memory', 'mcp__files']]);
  assert.deepEqual(offered(8_000), [['memory_read', 'memory_write'], ['mcp__files']]);
  assert.deepEqual(offered(100_000), [names(long).slice(2), []]);
});

test('a small budget gets what a file and a command need, and what the task requires or its brief names', () => {
  const tools = ['list_files', 'edit_file', 'find_files', 'write_file', ...names(ALL)].map((name) =>
    tool(name),
  );
  const offered = (required: string[], brief = 'x') => {
    const task = makeTask(brief);
    const requirements = { requiredCapabilities: required };
    return names(fit(tools, { ...task, dispatch: { ...task.dispatch, requirements } }, 7_999).tools);
  };
  const essential = ['write_file', 'shell_exec', 'read_file'];
  assert.deepEqual(offered([]), essential);
  assert.deepEqual(offered(['terminal']), essential);
  assert.deepEqual(offered(['file']), ['list_files', ...essential]);
  assert.deepEqual(offered(['patch']), ['edit_file', ...essential]);
  assert.deepEqual(offered([], 'Use find_files.'), ['find_files', ...essential]);
  const withoutShell = tools.filter(({ name }) => name !== 'shell_exec');
  assert.deepEqual(
    names(fit(withoutShell, makeTask('x'), 7_999).tools),
    ['list_files', 'edit_file', 'write_file', 'read_file'],
    'without commands, files are found and changed by tools',
  );
});

test('a small budget gets short definitions of the workspace tools, which do the same', async () => {
  const whole = defineTool({
    name: 'read_file',
    description: 'Read a file, a page at a time; there may be more. Say which page.',
    mutates: false,
    inputSchema: z.strictObject({ path: z.string().min(1), limit: z.int().max(9).optional() }),
    run: async ({ path, limit }) => ({ ok: true, output: `${path} ${limit}` }),
  });
  const [short] = fit([whole], makeTask('x'), 4_000).tools;
  assert.equal(short?.description, 'Read a file, a page at a time.');
  const properties = { path: { type: 'string' } };
  assert.deepEqual(short?.parameters, { type: 'object', properties, required: ['path'] });
  assert.deepEqual(fit([whole], makeTask('x'), 8_000).tools, [whole]);
  const other = tool('memory_read', 'Read. All of it.');
  assert.deepEqual(fit([other], makeTask('memory_read'), 4_000).tools, [other]);
});

test('tools that the task requires are offered whatever they cost', () => {
  const needing = (requirements: object) => {
    const task = makeTask('x');
    return fit(ALL, { ...task, dispatch: { ...task.dispatch, requirements } }, 100);
  };
  const byServer = needing({ requiredMcp: ['files'] });
  assert.deepEqual(names(byServer.tools).slice(2), ['mcp__files__read', 'mcp__files__list']);
  assert.deepEqual(byServer.leftOut, ['memory']);
  const byName = needing({ requiredCapabilities: ['memory_read'] });
  assert.deepEqual(names(byName.tools).slice(2), ['memory_read']);
  assert.deepEqual(byName.leftOut, ['memory', 'mcp__files']);
  const task = makeTask('x');
  const requirements = { requiredCapabilities: ['browser'] };
  const browser = tool('mcp__browser__open', 'x'.repeat(400));
  const offer = fit([browser], { ...task, dispatch: { ...task.dispatch, requirements } }, 100);
  assert.deepEqual([names(offer.tools), offer.leftOut], [['mcp__browser__open'], []], 'by its server');
});

test('tools that the brief names are offered whatever they cost, and ordinary words name none', () => {
  const delegate = tool('delegate', 'x'.repeat(400));
  const task = makeTask('Let memory_write keep it, then `mcp__files__list`; you may delegate.');
  const offer = fit([...ALL, delegate], task, 100);
  assert.deepEqual(names(offer.tools).slice(2), ['memory_write', 'mcp__files__list']);
  assert.deepEqual(offer.leftOut, ['memory', 'mcp__files', 'delegate']);
});

test('a failing source is logged and loses only its own tools', async () => {
  const log = recordingLog();
  const toolbox = createToolbox({
    own: [tool('read_file')],
    sources: [async () => [tool('fleet_peers')], async () => Promise.reject(new Error('away'))],
    log,
  });
  const { tools } = await toolbox.offer(makeTask('x'), undefined, never);
  assert.deepEqual(names(tools), ['read_file', 'fleet_peers']);
  assert.deepEqual(log.messages, ['warn: a tool source failed; its tools are not offered']);
});

test('an abort ends the wait for sources', async () => {
  const reason = new Error('over');
  const toolbox = createToolbox({
    own: [],
    sources: [async (_task, signal) => Promise.reject(signal.reason)],
    log: silentLog,
  });
  await assert.rejects(toolbox.offer(makeTask('x'), undefined, AbortSignal.abort(reason)), reason);
});
