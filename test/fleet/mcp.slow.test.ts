import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, connectMcp } from '@hermes-fleet/mcp/testing';
import { startProfile } from '../support/lone-profile.ts';
import { call, resultOf, runbook } from '../support/rpc.ts';

test("an MCP client's task is one of the profile, which A2A shows too", async (t) => {
  const profile = await startProfile(t, { name: 'neo' });
  const client = await connectMcp(t, profile.url, { token: profile.token });
  assert.equal(client.getServerVersion()?.name, 'neo');
  const lines: string[] = [];
  const task = await callTool(
    client,
    'fleet_dispatch',
    { brief: runbook('note.txt', 'hello', 'cat note.txt'), token_budget: 50_000, task_id: 'from-mcp' },
    { onprogress: ({ message: line = '' }) => lines.push(line) },
  );
  assert.deepEqual(
    [task.state, task.result.status, task.result.artifacts.files_changed],
    ['completed', 'done', ['note.txt']],
  );
  assert.equal(task.tokens_spent, task.result.tokens_spent);
  assert.equal(lines.at(-1), `completed · ${task.tokens_spent} of 50000 tokens`);
  const { body } = await call(profile, 'GetTask', { id: task.id });
  assert.equal(resultOf(body.result).task_id, 'from-mcp');

  const refused = await fetch(`${profile.url}/mcp`, { method: 'POST' });
  assert.equal(refused.status, 401);
  const [, metadata = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const shown = await (await fetch(metadata)).text();
  assert.equal(JSON.parse(shown).resource, `${profile.url}/mcp`);
});
