import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { AgentConfigSchema, createAgent, loopExecutor } from '@hermes-fleet/loop';
import { createMcpPool } from '@hermes-fleet/mcp';
import { createPeerRegistry } from '@hermes-fleet/peers';
import { systemClock as clock, systemIds as ids } from '@hermes-fleet/protocol/ports';
import { silentLog as log, tempDir } from '@hermes-fleet/protocol/testing';
import { createExternalTools } from '../../services/profile/src/external-tools.ts';
import { doc, plain, rows, section } from '../support/docs.ts';
import { openTestLedger } from '../support/ledger-run.ts';
import { leaves } from '../support/schema.ts';

/** Words of the announce that are no tools: they say what the tools make possible. */
const GENERAL = new Set(['terminal', 'file', 'patch']);

test('the tool table of agent.md is what an agent with everything enabled offers', async (t) => {
  await using opened = new AsyncDisposableStack();
  const dir = tempDir(t);
  const stateDir = join(dir, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  const ledger = openTestLedger(join(stateDir, 'ledger.db'));
  opened.defer(() => ledger.close());
  const url = 'http://127.0.0.1:9/jsonrpc';
  const fleet = FleetConfigSchema.parse({
    fleet: { server: { bind_port: 9219, auth_required: false }, agents: { neo: { url } } },
  });
  const peers = createPeerRegistry({
    ledger,
    configured: { neo: { url } },
    join: undefined,
    clock,
    log,
    self: 'switch',
  });
  const search = { url: 'https://search.example/' };
  const config = AgentConfigSchema.parse({ tools: { shell: { confine: 'unconfined' }, web: { search } } });
  const mcp = createMcpPool({ servers: {}, clock, log });
  opened.defer(() => mcp.close());
  const env = { read: () => undefined };
  const work = (): never => assert.fail('nothing is handed over');
  const external = createExternalTools({
    profile: 'switch',
    fleet,
    config,
    peers,
    subtasks: work,
    mcp,
    env,
    clock,
    log,
  });
  const agent = await createAgent({
    executor: loopExecutor,
    profile: { name: 'switch', tier: 'haiku' },
    config,
    place: { workspaceRoot: join(dir, 'workspace'), stateDir },
    runtime: { env, clock, ids },
    observe: { log },
    tools: external.tools,
  });
  opened.defer(() => agent.close());

  const offered = agent.capabilities().tools.filter((word) => !GENERAL.has(word));
  const table = rows(section(doc('docs/agent.md'), 'Tools')).map((row) => row.map(plain));
  const documented = table.map(([name = '']) => name);
  assert.deepEqual(documented.toSorted(), [...offered, 'mcp__<server>__<tool>'].toSorted());
  const keys = leaves(AgentConfigSchema, { brackets: false });
  for (const [name, switchedBy] of table) assert.ok(keys.includes(`${switchedBy}.enabled`), name);
});

test('the guards of agent.md have the names and defaults of config.yaml', () => {
  const { hooks } = AgentConfigSchema.parse({});
  const table = rows(section(doc('docs/agent.md'), 'Guards').replaceAll('\\|', ''));
  const documented = table.flatMap(([keys = '', defaults = '']) => {
    const values = plain(defaults).split(', ');
    return plain(keys)
      .split(', ')
      .map((key, index) => [key, values[index]]);
  });
  const expected = Object.entries(hooks).map(([key, value]) => [key, String(value)]);
  assert.deepEqual(documented.toSorted(), expected.toSorted());
});
