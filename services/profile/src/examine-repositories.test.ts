import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { AgentConfigSchema } from '@hermes-fleet/loop';
import { createSecretEnv } from '@hermes-fleet/service';
import { startForge } from '@hermes-fleet/workspace/testing';
import { examineRepositories } from './examine-repositories.ts';

const fleet = (handler = 'agent') =>
  FleetConfigSchema.parse({
    fleet: { tier: 'haiku', response_handler: handler, server: { bind_port: 1, auth_required: false } },
  });

test('each repository is asked for its base with its token, and what is wrong has its remedy', async (t) => {
  const forge = await startForge(t, { token: 's3cret-1' });
  forge.push('web', { 'a.txt': '1' });
  const env = createSecretEnv({ RIGHT: 's3cret-1', WRONG: 's3cret-2' });
  const url = forge.server.url('web.git');
  const examine = async (repositories: object, handler?: string) => {
    const agent = AgentConfigSchema.parse({ workspace: { repositories } });
    const found = await examineRepositories({ agent, fleet: fleet(handler) }, env);
    return found.map(({ subject, state, detail, fix = '' }) => `${subject} ${state}: ${detail} ${fix}`);
  };
  const found = await examine({
    web: { url, token_env: 'RIGHT' },
    old: { url, token_env: 'WRONG' },
    open: { url },
    none: { url, token_env: 'RIGHT', base: 'trunk' },
    gone: { url: forge.server.url('gone.git'), token_env: 'RIGHT' },
    unset: { url, token_env: 'UNSET' },
  });
  for (const [index, expected] of [
    /^repository web ok: main of http:/,
    /^repository old failed: .* refuses the token of token_env \(WRONG\)/,
    /^repository open failed: .* wants a token: name one by token_env or token_file/,
    /^repository none failed: .* has no branch trunk: push it, or name another one as base/,
    /^repository gone failed: .* does not exist, or the token of token_env \(RIGHT\) may not read it/,
    /^repository unset failed: repositories\.unset\.token_env: UNSET is not set: export it/,
  ].entries())
    assert.match(found[index] ?? '', expected);
  assert.doesNotMatch(found.join('\n'), /s3cret/);
  await forge.server.stop();
  const [away = ''] = await examine({ web: { url, token_env: 'RIGHT' } });
  assert.match(away, /^repository web warning: .* cannot be reached: .* see that the host answers/);
  assert.deepEqual(await examine({ web: { url } }, 'llm'), []);
});
