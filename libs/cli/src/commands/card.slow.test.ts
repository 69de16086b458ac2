import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { repositoryRoot } from '../command-line/options.ts';
import { runEntryPoint } from '../local/entry-point.ts';
import { commandOf, memberEnv, planFleet } from '../local/plan.ts';

test('every shipped profile has a card, and needs no key for it', async (t) => {
  const root = repositoryRoot();
  const dir = tempDir(t, { prefix: 'fleet-card-' });
  const plan = planFleet({ root, dir });
  for (const profile of plan.profiles) {
    const env = { PATH: process.env.PATH, ...memberEnv(plan, profile) };
    const entryPoint = { command: commandOf(root, profile.name), env, cwd: root };
    const { code, stdout, stderr } = await runEntryPoint(entryPoint, ['--card']);
    assert.equal(code, 0, stderr);
    const shown = JSON.parse(stdout);
    assert.equal(shown.name, profile.name);
    assert.equal(shown.supportedInterfaces[0].url, `${profile.url}/jsonrpc`);
    assert.ok(shown.skills.length > 0);
    assert.ok(shown.securitySchemes.bearer);
  }
});
