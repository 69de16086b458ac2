import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { askRunning, examineMcpTools } from './running-profile.ts';

test('the running profile is asked which tools of MCP servers it leaves out', async (t) => {
  const dependencies = {
    'mcp:docs': { state: 'ok', detail: 'tools left out: find: its schema fits no object' },
    'mcp:files': { state: 'ok' },
    'mcp:gone': { state: 'degraded', detail: 'error: process exited with code 5' },
    commands: { state: 'ok', detail: 'confined' },
  };
  const ready = createServer(({ url }, reply) => {
    reply.writeHead(url === '/ready' ? 200 : 404).end(JSON.stringify({ dependencies }));
  });
  await once(ready.listen(0, '127.0.0.1'), 'listening');
  t.after(() => ready.close());
  const address = ready.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { server } = FleetConfigSchema.parse({
    fleet: { server: { bind_host: '127.0.0.1', bind_port: address.port, auth_required: false } },
  }).fleet;
  const found = examineMcpTools(await askRunning(server ?? assert.fail()));
  assert.deepEqual(
    found.map(({ subject, check, state, detail }) => [subject, check, state, detail]),
    [['MCP server docs', 'tools', 'warning', 'tools left out: find: its schema fits no object']],
  );
});
