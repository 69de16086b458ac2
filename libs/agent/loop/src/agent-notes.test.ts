import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { createConfinement } from '@hermes-fleet/workspace';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { parse } from 'yaml';
import { SOURCE_CONFIG } from '../../../../test/support/source-config.ts';
import { notesOf } from './agent-notes.ts';
import { AgentConfigSchema } from './config/config-yaml.ts';

test('the start log names each key that has no effect, and a signing key that commands can read', async (t) => {
  const parts = { ...makePlace(t), clock: systemClock, log: silentLog };
  const confinement = await createConfinement({ confine: 'unconfined', ...parts });
  const noted = (config: unknown, ignores = {}): string[] => {
    const rules = { ignores, refuses: {} };
    const notes = notesOf('agent', AgentConfigSchema.parse(config), rules, confinement, undefined);
    return notes
      .filter((note) => note.startsWith('config.yaml'))
      .map((note) => note.split(/,| has/)[0] ?? '');
  };
  const commit = { signing_key_file: '/keys/key' };
  const signing = AgentConfigSchema.parse({
    tools: { shell: { confine: 'unconfined' } },
    workspace: { commit },
  });
  const notes = notesOf('agent', signing, { ignores: {}, refuses: {} }, confinement, undefined);
  assert.match(notes.join('\n'), /^commands can read the key of workspace\.commit\.signing_key_file/m);
  assert.deepEqual(noted({}, { effort: 'unused' }), []);
  assert.deepEqual(
    noted(parse(SOURCE_CONFIG)),
    ['defaultAgent', 'a2a.port', 'tools.tasks', 'tools.introspection', 'tools.models'].map(
      (key) => `config.yaml ${key}`,
    ),
  );
  const effort = ['config.yaml effort'];
  assert.deepEqual(noted({ effort: 'low' }), effort);
  assert.deepEqual(noted({ model: 'claude-x', effort: 'low' }), []);
  assert.deepEqual(noted({ model: 'claude-x', effort: 'low' }, { effort: 'it decides' }), effort);
});
