import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkout } from '@hermes-fleet/installation';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { runEntryPoint } from '../local/entry-point.ts';
import { commandOf, memberEnv, planFleet } from '../local/plan.ts';

const root = checkout() ?? '';
const card = (profile: string, env: NodeJS.ProcessEnv) =>
  runEntryPoint({ command: commandOf(profile), env, cwd: root }, ['--card']);

function home(t: TestContext, files: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const dir = tempDir(t, { prefix: 'fleet-card-' });
  mkdirSync(join(dir, 'profiles/oracle'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'profiles/oracle', name), text);
  return { PATH: process.env.PATH, HERMES_HOME: dir };
}

const YAML = `
fleet:
  server: { bind_host: 127.0.0.1, bind_port: 9300, public_url: "https://oracle.example/a2a", token_env: NOWHERE }
`;

test('a card names the public URL, and an error names the file or key', async (t) => {
  const good = await card(
    'oracle',
    home(t, { 'fleet.yaml': YAML, 'IDENTITY.md': '# Oracle\n\nSees.\n\n## Foresight\n\nTells.\n' }),
  );
  assert.equal(good.code, 0, good.stderr);
  const shown = JSON.parse(good.stdout);
  assert.match(shown.supportedInterfaces[0].url, /^https:\/\/oracle\.example\//);
  assert.deepEqual([shown.name, shown.description, shown.skills[0].id], ['Oracle', 'Sees.', 'foresight']);
  const noFile = await card('oracle', home(t, { 'fleet.yaml': YAML }));
  assert.equal(noFile.code, 1);
  assert.match(noFile.stderr, /IDENTITY\.md/);
  const off = await card(
    'oracle',
    home(t, { 'fleet.yaml': 'fleet: { enabled: false }\n', 'IDENTITY.md': '# x' }),
  );
  assert.equal(off.code, 1);
  assert.match(off.stderr, /fleet\.server/);
});

test('every shipped profile has a card, and needs no key for it', async (t) => {
  const dir = tempDir(t, { prefix: 'fleet-card-' });
  const plan = planFleet({ root, dir });
  for (const profile of plan.profiles) {
    const env = { PATH: process.env.PATH, ...memberEnv(plan, profile) };
    const entryPoint = { command: commandOf(profile.name), env, cwd: root };
    const { code, stdout, stderr } = await runEntryPoint(entryPoint, ['--card']);
    assert.equal(code, 0, stderr);
    const shown = JSON.parse(stdout);
    assert.equal(shown.name, profile.name);
    assert.equal(shown.supportedInterfaces[0].url, `${profile.url}/jsonrpc`);
    assert.ok(shown.skills.length > 0);
    assert.ok(shown.securitySchemes.bearer);
  }
});
