import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createClient } from '@hermes-fleet/net';
import { z } from 'zod';
import { ROOT, until } from '../support/fleet.ts';
import { startProfile } from '../support/lone-profile.ts';

const SERVER = join(ROOT, 'libs/agent/loop/testing/mcp-server.ts');
const ask = createClient('configured');
const Ready = z.looseObject({
  dependencies: z.looseObject({
    'mcp:docs': z.looseObject({ state: z.string(), detail: z.string().optional() }),
  }),
});

test('a tool that no model can be sent is named by /ready, by the log and by the doctor', async (t) => {
  const far = { type: 'object', properties: { a: { $ref: 'https://example.org' } } };
  const tools = JSON.stringify([{ name: 'look' }, { name: 'far', inputSchema: far }]);
  const docs = { command: 'node', args: [SERVER, tools], scope: 'profile' };
  const shell = { readable: [dirname(SERVER)] };
  const profile = await startProfile(t, { config: { mcp: { servers: { docs } }, tools: { shell } } });
  const why = 'far: its schema refers to https://example.org, which it does not have';
  let said: unknown;
  await until(async () => {
    said = Ready.parse(await (await ask(`${profile.url}/ready`)).json()).dependencies['mcp:docs'];
    return JSON.stringify(said).includes('left out');
  }, 'the tools to be listed');
  assert.deepEqual(said, { state: 'ok', detail: `tools left out: ${why}` });
  const found = (await profile.doctor()).filter((line) => line.includes('MCP server'));
  assert.deepEqual(found, [`warning MCP server docs tools: tools left out: ${why}`]);
  assert.ok(profile.log().includes(why));
});
