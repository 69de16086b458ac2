import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineTool, type Tool } from '@hermes-fleet/protocol';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { z } from 'zod';
import { makeTask } from '../testing/harness.ts';
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

test('a small budget gets the workspace tools, and the groups that a twentieth of it pays for', () => {
  const offered = (limit: number) => {
    const { tools, leftOut } = fit(ALL, makeTask('x'), limit);
    return [names(tools).slice(2), leftOut];
  };
  assert.deepEqual(offered(100), [[], ['memory', 'mcp__files']]);
  assert.deepEqual(offered(3_500), [['memory_read', 'memory_write'], ['mcp__files']]);
  assert.deepEqual(offered(100_000), [names(ALL).slice(2), []]);
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
  assert.deepEqual(toolbox.names, ['read_file']);
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
