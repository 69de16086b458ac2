import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { McpPool } from '@hermes-fleet/mcp';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { delegating, hand } from '../../testing/delegating.ts';
import { stepsSinceAsked } from '../../testing/scripted-run.ts';
import { say, use } from '../../testing/scripted-server.ts';
import { createMcpTools } from '../tools/mcp-tools.ts';

const SCOUT = `---
name: scout
description: Looks around.
tools: [mcp__own__*]
---
Look around.
`;

test('a sub-agent calls MCP servers in the place of its task, which is released after the last call', async (t) => {
  const seen: string[] = [];
  const subagentsDir = tempDir(t);
  writeFileSync(join(subagentsDir, 'scout.md'), SCOUT);
  const pool: Pick<McpPool, 'health' | 'listTools' | 'callTool'> = {
    health: () => ({ own: { state: 'ok', detail: '', checkedAt: 1 } }),
    listTools: async () => [{ name: 'look', inputSchema: { type: 'object' }, readOnly: true }],
    async callTool(_server, _tool, _args, { place }) {
      seen.push(`called in ${place?.context} ${place?.dir}`);
      return { isError: false, content: 'a wall' };
    },
  };
  const config = {
    mcp: { servers: { own: { command: 'node', scope: 'task' } } },
    tools: { mcp: { enabled: true } },
  } as const;
  const { run, agent } = await delegating(
    t,
    {
      main: (request) =>
        [use([['mcp__own__look', {}]]), hand('scout')][stepsSinceAsked(request)] ?? say('Done with it.'),
      scout: (request) => (stepsSinceAsked(request) === 0 ? use([['mcp__own__look', {}]]) : say('A wall.')),
    },
    {},
    {
      subagentsDir,
      sources: [createMcpTools(pool, config, { clock: systemClock, log: silentLog }).source],
      release: async (context) => void seen.push(`released ${context}`),
    },
  );
  const { result } = await run({ contextId: 'c1' });
  assert.equal(result.status, 'done', JSON.stringify(result));
  const called = seen.slice(0, 2);
  assert.equal(new Set(called).size, 1, seen.join());
  assert.ok(called[0]?.startsWith(`called in c1 ${join(agent.place.workspaceRoot, 'contexts')}`), called[0]);
  assert.deepEqual(seen.slice(2), ['released c1']);
});
