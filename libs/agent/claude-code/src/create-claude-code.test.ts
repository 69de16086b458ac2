import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AgentConfigSchema, configSchemaFor } from '@hermes-fleet/loop';
import { makeAgent } from '@hermes-fleet/loop/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { Confinement } from '@hermes-fleet/workspace';
import { mayChangeUsers, SECRET } from '@hermes-fleet/workspace/testing';
import { createClaudeCode } from './create-claude-code.ts';
import { claudeCode } from './index.ts';

const CLAUDE = { model: 'anthropic/claude-sonnet-4-5', executor: 'claude-code' } as const;

const envOf = (values: Readonly<Record<string, string>>) => ({ read: (name: string) => values[name] });

const noConfinement: Confinement = {
  method: 'none',
  note: 'nothing confines commands here; install bubblewrap',
  otherUser: false,
  wrap: (command, args) => ({ command, args }),
  launch: (command, args) => ({ command, args }),
  serverPlace: () => assert.fail('no MCP server'),
};

/** The folder of a fleet with an SDK package that does nothing. */
function fakeSdk(t: TestContext, source = 'export function query() {}', mode = 0o755): string {
  const folder = tempDir(t);
  const dir = join(folder, 'packages/node_modules/@anthropic-ai/claude-agent-sdk');
  mkdirSync(dir, { recursive: true });
  const manifest = {
    name: '@anthropic-ai/claude-agent-sdk',
    version: '0.3.999',
    type: 'module',
    main: 'sdk.mjs',
  };
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(dir, 'sdk.mjs'), source);
  chmodSync(folder, mode);
  return folder;
}

const invalid = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof FleetError && error.code === 'CONFIG_INVALID', String(error));
  assert.match(error.message, message);
  assert.equal(error.fields.length, 1);
  return true;
};

test('without the SDK the agent does not start, and the error names the command that installs it', async (t) => {
  const folder = tempDir(t);
  const env = envOf({ ANTHROPIC_API_KEY: SECRET, HERMES_HOME: folder });
  const message =
    /executor: @anthropic-ai\/claude-agent-sdk is not in .+\/packages: run fleet add @anthropic-ai\/claude-agent-sdk$/;
  await assert.rejects(makeAgent(t, CLAUDE, { executor: claudeCode, env }), invalid(message));
  await assert.rejects(claudeCode.readableDirectories(env), invalid(message));
});

test('config.yaml has one model and the whole network', () => {
  const schema = configSchemaFor(() => claudeCode);
  const refused = (config: object): unknown[] =>
    schema.safeParse({ ...CLAUDE, ...config }).error?.issues.map(({ message }) => message) ?? [];
  assert.deepEqual(refused({}), []);
  assert.match(String(refused({ fallback_models: ['openai/a'] })), /^claude-code calls one model/);
  for (const network of ['none', { allow: ['a.example'] }])
    assert.match(String(refused({ tools: { shell: { network } } })), /^claude-code .* needs the network/);
});

test('a probe asks where its calls go, which the environment does not move', () => {
  const moved = { read: (name: string) => (name === 'ANTHROPIC_BASE_URL' ? 'http://elsewhere/v1' : 'key') };
  const probed = claudeCode.probedModel(AgentConfigSchema.parse(CLAUDE), moved);
  assert.equal(probed?.listUrl, 'https://api.anthropic.com/v1/models?limit=1');
});

test('it needs a model of Anthropic, its key and a confinement', async (t) => {
  const options = { confinement: noConfinement, ids: systemIds, clock: systemClock };
  const env = envOf({ HERMES_HOME: fakeSdk(t), ANTHROPIC_API_KEY: SECRET });
  const runbook = AgentConfigSchema.parse({ executor: 'claude-code' });
  await assert.rejects(
    createClaudeCode(runbook, { ...options, env }),
    invalid(/offline\/runbook is not one/),
  );
  const config = AgentConfigSchema.parse(CLAUDE);
  await assert.rejects(
    createClaudeCode(config, { ...options, env }),
    invalid(/does not run without a confinement; nothing confines/),
  );
  const confinement: Confinement = { ...noConfinement, method: 'unconfined' };
  const keyless = envOf({ HERMES_HOME: fakeSdk(t) });
  await assert.rejects(
    createClaudeCode(config, { ...options, confinement, env: keyless }),
    invalid(/needs a key in ANTHROPIC_API_KEY/),
  );
});

test('a release other than the tested one is noted at start', async (t) => {
  const env = envOf({ HERMES_HOME: fakeSdk(t), ANTHROPIC_API_KEY: SECRET });
  const confinement: Confinement = { ...noConfinement, method: 'unconfined' };
  const { notes, modelName, modelInClaude, upstream } = await createClaudeCode(
    AgentConfigSchema.parse({
      ...CLAUDE,
      model: 'claude-opus-4-6[1m]',
      base_url: 'http://127.0.0.1:1/gate/v1/',
    }),
    { confinement, ids: systemIds, clock: systemClock, env },
  );
  assert.match(notes[0] ?? '', /Claude Code \(SDK 0\.3\.999\), UNCONFINED/);
  assert.match(notes[1] ?? '', /tested with release 0\.3\.330 .* not with 0\.3\.999/);
  assert.deepEqual(
    [modelName, modelInClaude, upstream],
    ['claude-opus-4-6', 'claude-opus-4-6[1m]', 'http://127.0.0.1:1/gate'],
  );
});

test('a package without query() is refused', async (t) => {
  const env = envOf({
    HERMES_HOME: fakeSdk(t, 'export const other = 1'),
    ANTHROPIC_API_KEY: SECRET,
  });
  const confinement: Confinement = { ...noConfinement, method: 'unconfined' };
  await assert.rejects(
    createClaudeCode(AgentConfigSchema.parse(CLAUDE), {
      confinement,
      ids: systemIds,
      clock: systemClock,
      env,
    }),
    invalid(/exports no query\(\)/),
  );
});

test('a folder that commands cannot read is refused, with a hint', {
  skip: mayChangeUsers ? false : 'this user may not change users, so commands read what it reads',
}, async (t) => {
  const folder = fakeSdk(t, undefined, 0o700);
  const env = envOf({ ANTHROPIC_API_KEY: SECRET, HERMES_HOME: folder });
  const config = { ...CLAUDE, tools: { shell: { confine: 'uid' } } } as const;
  await assert.rejects(
    makeAgent(t, config, { executor: claudeCode, env }),
    invalid(/let every user enter its folders/),
  );
});
