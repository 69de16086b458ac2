import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { mcpFleet, tokenOf } from '../../testing/mcp-fleet.ts';
import { spending } from '../../testing/relay-fleet.ts';

const FOLDER =
  process.env.MCP_INSPECTOR_DIR || join(import.meta.dirname, '../../../../../.cache/mcp-inspector');
/** The inspector is no dependency (docs/mcp.md#look-at-it-without-a-model). */
const INSPECTOR = join(FOLDER, 'node_modules/.bin/mcp-inspector');
const skip = existsSync(INSPECTOR) ? false : 'deploy/mcp-inspector.sh has not installed the MCP inspector';

test('the command line of the MCP inspector lists the tools, sends a task and reads its result', {
  skip,
}, async (t) => {
  const { url } = await mcpFleet(t, spending(7));
  const inspect = async (...method: string[]) => {
    const header = `Authorization: Bearer ${tokenOf('operator')}`;
    const args = ['--cli', `${url}/mcp`, '--transport', 'http', '--header', header, '--method', ...method];
    const { stdout } = await promisify(execFile)(process.execPath, [INSPECTOR, ...args], {
      timeout: 60_000,
    });
    return JSON.parse(stdout);
  };
  const { tools } = await inspect('tools/list');
  assert.deepEqual(
    tools.map(({ name }: { name: string }) => name),
    ['dispatch', 'task', 'tasks', 'cancel', 'answer', 'peers', 'route'].map((name) => `fleet_${name}`),
  );
  const send = [
    '--tool-name',
    'fleet_dispatch',
    '--tool-arg',
    'brief=count',
    '--tool-arg',
    'token_budget=5000',
  ];
  const { structuredContent: task } = await inspect('tools/call', ...send);
  assert.deepEqual([task.state, task.tokens_spent, task.token_budget], ['completed', 7, 5000]);
  const { contents } = await inspect('resources/read', '--uri', `fleet://tasks/${task.id}/result`);
  assert.deepEqual(JSON.parse(contents[0].text), task.result);
});
