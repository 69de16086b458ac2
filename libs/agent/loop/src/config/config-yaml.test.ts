import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { SOURCE_CONFIG } from '../../../../../test/support/source-config.ts';
import { createModel } from '../model/create-model.ts';
import { AgentConfigSchema, configSchemaFor } from './config-yaml.ts';
import { parseModelName } from './model-name.ts';

const problems = (config: unknown): string[] => {
  const parsed = AgentConfigSchema.safeParse(config);
  return parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};

test('an empty config.yaml selects the offline runbook with all tools', () => {
  const config = AgentConfigSchema.parse({});
  assert.equal(config.model, 'offline/runbook');
  const { shell, web, ...others } = config.tools;
  const { limits, ...command } = shell;
  assert.deepEqual(command, {
    enabled: true,
    confine: 'auto',
    timeout_s: 120,
    env: {},
    readable: [],
    network: 'full',
  });
  assert.deepEqual(limits, { data_mb: 0, file_mb: 8192, open_files: 16_384, cpu_s: 14_400 });
  assert.deepEqual(web, { enabled: true, allow_internal: [] });
  const domains = ['workspace', 'progress', 'scratchpad', 'memory', 'a2a', 'fleet', 'mcp', 'publish', 'ask'];
  assert.deepEqual(others, Object.fromEntries(domains.map((domain) => [domain, { enabled: true }])));
  assert.deepEqual(config.hooks, {
    logToolUse: false,
    verifyBeforeComplete: true,
    loopDetection: true,
    loopDetectionThreshold: 3,
    compactSuccessOutput: true,
    compactOutputThreshold: 50,
  });
  assert.deepEqual(config.limits, { max_steps: 50, max_output_tokens: 8192, compact_at: 0.8 });
  assert.deepEqual(config.budget, { count_cache: false });
  assert.deepEqual(config.mcp, { servers: {}, max_task_servers: 8, task_server_idle_s: 300 });
  assert.deepEqual(config.workspace, {
    isolation: 'worktree',
    setup: [],
    setup_timeout_s: 1800,
    repositories: {},
    max_mb: 20_480,
    min_free_mb: 512,
    commit: { sign_off: false, trailers: {} },
  });
});

test('config.yaml rejects unknown and invalid keys with the fix', () => {
  assert.match(problems({ modell: 'x' })[0] ?? '', /modell/);
  assert.match(problems({ tools: { shell: { enabled: 'yes' } } })[0] ?? '', /tools\.shell\.enabled/);
  assert.match(
    problems({ workspace: { isolation: 'none' } })[0] ?? '',
    /isolation: .*"worktree"\|"in_place"/,
  );
  assert.match(problems({ workspace: { setup: [''] } })[0] ?? '', /^workspace\.setup/);
  assert.match(
    problems({ workspace: { setup: 'npm ci', isolation: 'in_place' } })[0] ?? '',
    /^workspace\.setup: in place, the tree is yours, so you prepare it: remove setup/,
  );
  assert.match(
    problems({ workspace: { commit: { signing_key_file: 'key' }, isolation: 'in_place' } })[0] ?? '',
    /^workspace\.commit\.signing_key_file: in place, git runs as a command, which must not read the key/,
  );
  assert.deepEqual(AgentConfigSchema.parse({ workspace: { setup: 'npm ci' } }).workspace.setup, ['npm ci']);
  assert.match(problems({ model: 'gpt' })[0] ?? '', /^model: "gpt" names no model; use offline/);
  assert.match(problems({ model: 'openai-compatible/m' })[0] ?? '', /^base_url: is required/);
  assert.match(problems({ base_url: 'http://127.0.0.1:1/v1' })[0] ?? '', /makes no requests/);
  assert.match(problems({ headers: { Host: 'a' } })[0] ?? '', /^headers\.Host: Invalid key/);
  for (const address of ['http://me:s3cret@127.0.0.1:1/v1', 'http://me@127.0.0.1:1/v1']) {
    const fallback = { model: 'openai-compatible/m', base_url: address };
    for (const config of [fallback, { fallback_models: [fallback] }]) {
      const found = problems(config).join();
      assert.match(found, /base_url: must have no user or password/);
      assert.doesNotMatch(found, /s3cret/);
    }
  }
  assert.deepEqual(problems({ mcp: { servers: { files: { command: 'node' } } } }), []);
});

test('model names are parsed in all their notations', () => {
  assert.deepEqual(parseModelName('claude-opus-4-6[1m]'), {
    provider: 'anthropic',
    name: 'claude-opus-4-6',
    longContext: true,
  });
  assert.deepEqual(parseModelName('anthropic/claude-x'), {
    provider: 'anthropic',
    name: 'claude-x',
    longContext: false,
  });
  assert.deepEqual(parseModelName('openai-compatible/org/name'), {
    provider: 'openai-compatible',
    name: 'org/name',
  });
  assert.deepEqual(parseModelName('openai/gpt'), { provider: 'openai', name: 'gpt' });
  assert.deepEqual(parseModelName('openrouter/qwen/qwen3:free'), {
    provider: 'openrouter',
    name: 'qwen/qwen3:free',
  });
  assert.deepEqual(parseModelName('google/gemini-x', true), { provider: 'package', name: 'gemini-x' });
  for (const wrong of ['', 'offline/', 'anthropic/', '/x', 'google/gemini-x', 'openai/'])
    assert.equal(parseModelName(wrong), undefined);
});

test('a configured model without its API key is an error, never a fallback to the runbook', async () => {
  const none = { read: () => undefined };
  for (const config of [
    { model: 'claude-x' },
    { model: 'openai-compatible/m', base_url: 'http://127.0.0.1:1/v1', api_key_env: 'SOME_KEY' },
  ]) {
    const parsed = AgentConfigSchema.parse(config);
    await assert.rejects(createModel(parsed, 'opus', none), {
      code: 'CONFIG_INVALID',
      message: /needs a key in \w+_KEY/,
    });
  }
  const local = AgentConfigSchema.parse({ model: 'openai-compatible/m', base_url: 'http://127.0.0.1:1/v1' });
  assert.deepEqual((await createModel(local, 'haiku', none)).info, {
    id: 'openai-compatible/m',
    tier: 'haiku',
    contextWindow: 32_768,
    isWindowPending: true,
  });
  const long = AgentConfigSchema.parse({ model: 'claude-opus-4-6[1m]' });
  assert.equal((await createModel(long, 'opus', { read: () => 'key' })).info.contextWindow, 1_000_000);
});

test('a config.yaml of another Hermes deployment loads', () => {
  const config = AgentConfigSchema.parse(parse(SOURCE_CONFIG));
  assert.equal(config.model, 'claude-opus-4-6[1m]');
  assert.deepEqual(config.a2a.agents, {});
});

test('what an executor refuses is refused with it alone, beside other problems', () => {
  const refuses = { 'limits.max_steps': 'has its own', fallback_models: 'has one' };
  const schema = configSchemaFor((kind) => ({ ignores: {}, refuses: kind === 'loop' ? {} : refuses }));
  const found = (config: object): unknown[] =>
    schema.safeParse(config).error?.issues.map(({ path, message }) => [path.join('.'), message]) ?? [];
  const limits = { max_steps: 7 };
  const executor = 'claude-code';
  assert.deepEqual(found({ limits, fallback_models: ['claude-x'] }), []);
  assert.deepEqual(found({ executor, limits: { max_steps: 50 }, fallback_models: [] }), []);
  assert.deepEqual(found({ executor, limits, hooks: { logToolUse: 1 } }), [
    ['hooks.logToolUse', 'Invalid input: expected boolean, received number'],
    ['limits.max_steps', 'has its own'],
  ]);
  assert.match(String(found({ executor: 'other', limits })), /^executor,Invalid option/);
});
