import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { AgentConfigSchema, createMcpTools } from '@hermes-fleet/loop';
import { block, makeAgent, makeContext, makeTask, networkScene } from '@hermes-fleet/loop/testing';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { deadline, recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { cannotConfine } from '@hermes-fleet/workspace/testing';
import { openMcp } from './open-mcp.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FIXTURE = join(ROOT, 'libs/core/mcp/testing/stdio-server.ts');

test('a server of scope task reaches the named hosts, in a task and where its health is measured', {
  skip: cannotConfine('bubblewrap'),
  ...deadline,
}, async (t) => {
  const seen: (string | undefined)[] = [];
  const web = createServer((request, response) => {
    seen.push(request.url);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(web, 'listening');
  t.after(() => web.close());
  const address = web.address();
  assert.ok(typeof address === 'object' && address !== null);
  const log = recordingLog();
  const hosts = { allow_internal: [`pkg.test:${address.port}`] };
  const { network, place, confinement } = await networkScene(t, hosts, { log, readable: [ROOT] });
  const begin = `curl -s http://pkg.test:${address.port}/begun; curl -s https://evil.example; exec "$0" "$@"`;
  const own = { command: '/bin/sh', args: ['-c', begin, process.execPath, FIXTURE], scope: 'task' };
  const config = AgentConfigSchema.parse({ mcp: { servers: { own } }, tools: { shell: { network: hosts } } });
  const pool = await openMcp({
    config: config.mcp,
    confinement,
    network,
    clock: systemClock,
    log: silentLog,
  });
  t.after(() => pool.close());
  assert.equal((await pool.probe('own', { maxAgeMs: 0, timeoutMs: 60_000 })).state, 'ok');
  assert.deepEqual(seen, ['/begun']);
  const { executor } = await makeAgent(
    t,
    { tools: { shell: { network: hosts } } },
    {
      ...{ place, confinement, network },
      sources: [createMcpTools(pool, config, { clock: systemClock, log: silentLog, network }).source],
      release: pool.release,
    },
  );
  const task = makeTask(block('tool mcp__own__echo', '{}'), { contextId: 'of-a-task' });
  const { status } = await executor.run(task, makeContext());
  assert.equal(status, 'done');
  assert.deepEqual(seen, ['/begun', '/begun']);
  const refused = { target: 'evil.example:443', reason: 'it is not in tools.shell.network.allow' };
  assert.deepEqual(
    log.entries.map(({ fields }) => fields),
    [
      { server: 'own', ...refused },
      { context_id: 'of-a-task', server: 'own', ...refused },
    ],
  );
});
