import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { createConfinement } from '@hermes-fleet/workspace';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { parse } from 'yaml';
import { SOURCE_CONFIG } from '../../../../test/support/source-config.ts';
import { notesOf } from './agent-notes.ts';
import { AgentConfigSchema } from './config/config.ts';

test('the start log names each key that has no effect, and each server with another meaning', async (t) => {
  const parts = { ...makePlace(t), clock: systemClock, log: silentLog };
  const confinement = await createConfinement({ confine: 'unconfined', ...parts });
  const noted = (config: unknown, ignores = {}): string[] => {
    const rules = { ignores, refuses: {} };
    const notes = notesOf('agent', AgentConfigSchema.parse(config), rules, confinement, undefined);
    return notes
      .filter((note) => note.startsWith('config.yaml'))
      .map((note) => note.split(/,| has/)[0] ?? '');
  };
  assert.deepEqual(noted({}, { effort: 'unused' }), []);
  assert.deepEqual(
    noted(parse(SOURCE_CONFIG)).filter((note) => !note.includes('mcp.servers')),
    ['defaultAgent', 'a2a.port', 'tools.tasks', 'tools.introspection', 'tools.models'].map(
      (key) => `config.yaml ${key}`,
    ),
  );
  const effort = ['config.yaml effort'];
  assert.deepEqual(noted({ effort: 'low' }), effort);
  assert.deepEqual(noted({ model: 'claude-x', effort: 'low' }), []);
  assert.deepEqual(noted({ model: 'claude-x', effort: 'low' }, { effort: 'it decides' }), effort);
  const servers = {
    old: { command: 'node' },
    trader: { url: 'http://trader.internal/mcp', scope: 'trader:decide' },
    task: { command: 'node', scope: 'task' },
    shared: { command: 'node', scope: 'profile' },
    off: { command: 'node', disabled: true },
  };
  assert.deepEqual(noted({ mcp: { servers } }), [
    'config.yaml mcp.servers.old.scope is not set',
    'config.yaml mcp.servers.trader.scope: trader:decide is caller_scope: trader:decide now; rename the key',
  ]);
});
