import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { startProvider } from '../../../testing/provider.ts';
import { AgentConfigSchema } from '../../config/config-yaml.ts';
import { createModelWindow } from '../../config/model-window.ts';
import { learnWindow } from './ask-window.ts';
import { probedModel } from './probe-model.ts';

const env = { read: () => 'the-key' };

/** What a profile learns of a provider that answers these paths. */
async function learned(t: Parameters<typeof startProvider>[0], bodies: Record<string, unknown>, config = {}) {
  const provider = await startProvider(t);
  provider.answers = (request) => (request in bodies ? 200 : 404);
  provider.body = (request) => bodies[request];
  const agent = AgentConfigSchema.parse({
    model: 'openai-compatible/org/m',
    base_url: `${provider.url}/v1`,
    ...config,
  });
  const log = recordingLog();
  const window = createModelWindow(agent, log);
  const probed = probedModel(agent, env) ?? assert.fail('nothing to ask');
  const hasChanged = await learnWindow(probed, window, 10_000);
  return { provider, window, hasChanged, log, again: () => learnWindow(probed, window, 10_000) };
}

const listOf = (...entries: object[]): object => ({ object: 'list', data: entries });
const LIST = 'GET /v1/models';

describe('the window that a provider states', () => {
  const ENTRIES: readonly (readonly [server: string, entry: object, tokens: number])[] = [
    ['vLLM', { id: 'org/m', max_model_len: 40_960 }, 40_960],
    [
      'OpenRouter',
      { id: 'org/m', context_length: 163_840, top_provider: { context_length: 65_536 } },
      65_536,
    ],
    ['OpenRouter without a host', { id: 'org/m', context_length: 163_840, top_provider: null }, 163_840],
    ['Groq', { id: 'org/m', context_window: 131_072 }, 131_072],
    ['Mistral', { id: 'org/m', max_context_length: 131_073 }, 131_073],
    ['a server of one model', { id: 'another name', max_model_len: 8_192 }, 8_192],
  ];
  for (const [server, entry, tokens] of ENTRIES)
    it(`is read from the list of ${server}`, async (t) => {
      const { window, provider } = await learned(t, { [LIST]: listOf(entry) });
      assert.deepEqual([window.tokens(), window.isOpen(), window.isPending()], [tokens, false, false]);
      assert.match(window.source(), /^the provider states \w+$/);
      assert.deepEqual(provider.requests, [LIST]);
      assert.equal(provider.headers().authorization, undefined);
    });

  it('is that of the model, and not of others in the list', async (t) => {
    const other = { id: 'org/n', max_model_len: 1_000_000 };
    const { window } = await learned(t, { [LIST]: listOf(other, { id: 'org/m', max_model_len: 9_000 }) });
    assert.equal(window.tokens(), 9_000);
    const absent = await learned(t, { [LIST]: listOf(other, { id: 'org/o', max_model_len: 9_000 }) });
    assert.equal(absent.window.tokens(), 32_768);
  });

  it('is what a slot of llama.cpp has, and not what the model was trained with', async (t) => {
    const { window } = await learned(t, {
      [LIST]: listOf({ id: 'org/m', meta: { n_ctx_train: 262_144 } }),
      'GET /props': { default_generation_settings: { n_ctx: 65_536 } },
    });
    assert.deepEqual([window.tokens(), window.source()], [65_536, 'the provider states n_ctx']);
  });

  it('is what Ollama has loaded a model with', async (t) => {
    const model = { name: 'm:latest', model: 'm:latest', context_length: 16_384 };
    const ollama = { [LIST]: listOf({ id: 'm:latest' }), 'GET /api/ps': { models: [model] } };
    const { window } = await learned(t, ollama, { model: 'openai-compatible/m' });
    assert.equal(window.tokens(), 16_384);
  });

  it('is the num_ctx of a Modelfile while Ollama has not loaded the model', async (t) => {
    const { window } = await learned(t, {
      'GET /api/ps': { models: [] },
      'POST /api/show': { parameters: 'stop "<|x|>"\nnum_ctx                        24576', model_info: {} },
    });
    assert.deepEqual([window.tokens(), window.source()], [24_576, 'the provider states num_ctx']);
  });

  it('is assumed, and asked for again, while Ollama tells only what the model can have', async (t) => {
    const bodies: Record<string, unknown> = {
      'GET /api/ps': { models: [] },
      'POST /api/show': { model_info: { 'qwen3.context_length': 262_144, 'qwen3.block_count': 36 } },
    };
    const { window, again, hasChanged, log } = await learned(t, bodies);
    assert.deepEqual([window.tokens(), window.isOpen(), hasChanged], [32_768, true, false]);
    assert.match(window.source(), /^assumed: the provider states only what the model can have at most/);
    bodies['GET /api/ps'] = { models: [{ model: 'org/m', context_length: 4_096 }] };
    assert.ok(await again());
    assert.deepEqual([window.tokens(), window.isOpen()], [4_096, false]);
    assert.deepEqual(log.messages, [
      'warn: the context window of the model is assumed: set context_window in config.yaml',
      'info: the context window of the model is known',
    ]);
  });

  it('is not above what the model can have', async (t) => {
    const { window } = await learned(t, {
      'GET /api/v0/models': listOf({ id: 'org/m', state: 'not-loaded', max_context_length: 4_096 }),
    });
    assert.deepEqual([window.tokens(), window.isOpen()], [4_096, true]);
  });

  it('is what LM Studio has loaded a model with', async (t) => {
    const entry = {
      id: 'org/m',
      state: 'loaded',
      max_context_length: 131_072,
      loaded_context_length: 20_000,
    };
    const { window } = await learned(t, { 'GET /api/v0/models': listOf(entry) });
    assert.equal(window.tokens(), 20_000);
  });

  it('is the greatest input of a model of Anthropic, asked for with the key', async (t) => {
    const provider = await startProvider(t);
    provider.body = () => ({ id: 'claude-x', max_input_tokens: 500_000, max_tokens: 64_000 });
    const agent = AgentConfigSchema.parse({ model: 'claude-x', base_url: provider.url });
    const window = createModelWindow(agent, recordingLog());
    assert.equal(window.tokens(), 200_000, 'that of the family, until the provider answers');
    await learnWindow(probedModel(agent, env) ?? assert.fail(), window, 10_000);
    assert.equal(window.tokens(), 500_000);
    assert.deepEqual(provider.requests, ['GET /v1/models/claude-x']);
    assert.equal(provider.headers()['x-api-key'], 'the-key');
  });
});

describe('a window that no provider states', () => {
  it('is assumed, with a line that says how to set it', async (t) => {
    const { window, log, provider, again } = await learned(t, {});
    assert.deepEqual([window.tokens(), window.isOpen(), window.isPending()], [32_768, false, false]);
    assert.deepEqual(
      log.entries.map(({ fields, message }) => [message, fields]),
      [
        [
          'the context window of the model is assumed: set context_window in config.yaml',
          {
            model: 'openai-compatible/org/m',
            context_window: 32_768,
            source: 'assumed: the provider states none',
          },
        ],
      ],
    );
    const asked = provider.requests.length;
    await again();
    assert.equal(provider.requests.length, asked, 'the answer holds until the provider was away');
    window.reopen();
    await again();
    assert.ok(provider.requests.length > asked);
  });

  it('is pending while the provider is away', async (t) => {
    const { provider, window, again } = await learned(t, {});
    window.reopen();
    await provider.stop();
    assert.equal(await again(), false);
    assert.ok(window.isOpen());
    const fresh = createModelWindow(
      AgentConfigSchema.parse({ model: 'openai-compatible/m', base_url: 'http://127.0.0.1:1' }),
      recordingLog(),
    );
    assert.deepEqual([fresh.tokens(), fresh.isPending()], [32_768, true]);
  });

  for (const status of [408, 425, 429, 500, 503])
    it(`stays pending and open while the provider answers ${status}`, async (t) => {
      const provider = await startProvider(t);
      provider.answers = () => status;
      const config = { model: 'openai-compatible/m', base_url: `${provider.url}/v1` };
      const agent = AgentConfigSchema.parse(config);
      const window = createModelWindow(agent, recordingLog());
      const probed = probedModel(agent, env) ?? assert.fail();
      await learnWindow(probed, window, 10_000);
      assert.deepEqual([window.isOpen(), window.isPending()], [true, true]);
      provider.answers = () => 200;
      provider.body = () => listOf({ id: 'm', max_model_len: 9_000 });
      assert.ok(await learnWindow(probed, window, 10_000));
      assert.equal(window.tokens(), 9_000);
    });

  it('is what a figure is that no window can have', async (t) => {
    for (const figure of [0, 1, 999, 1000.5, 100_000_001, 9e15, '8192', null]) {
      const { window, log } = await learned(t, {
        [LIST]: listOf({ id: 'org/m', max_model_len: figure }),
        'GET /api/ps': { models: [{ name: 'org/m', context_length: figure }] },
        'POST /api/show': { parameters: `num_ctx ${figure}` },
        'GET /api/v0/models': listOf({
          id: 'org/m',
          loaded_context_length: figure,
          max_context_length: figure,
        }),
      });
      const left = figure === '8192' ? 8_192 : 32_768;
      assert.deepEqual([figure, window.tokens(), window.isOpen()], [figure, left, false]);
      if (left === 32_768)
        assert.match(log.messages.join(), /^warn: the context window of the model is assumed/);
    }
  });

  it('is not looked for in answers that take long to search', { timeout: 60_000 }, async (t) => {
    const entry = { id: 'org/m', max_model_len: 9_000 };
    for (const [lines, tokens] of [
      [60_000, 9_000],
      [80_000, 32_768],
    ]) {
      const parameters = `${'\n'.repeat(lines ?? 0)}num_ctx 9000`;
      const { window } = await learned(t, {
        'GET /api/ps': { models: [] },
        'POST /api/show': { parameters },
      });
      assert.deepEqual([window.tokens(), window.isOpen()], [tokens, false]);
    }
    for (const entries of [20_000, 3_000_000]) {
      const { window } = await learned(t, { [LIST]: { data: [entry, ...Array(entries).fill({})] } });
      assert.deepEqual([window.tokens(), window.isOpen()], [32_768, false]);
    }
  });

  it('cannot be asked for at a package of another provider, which is said at once', () => {
    const log = recordingLog();
    const config = { model: 'other/m', provider: { package: '@scope/other' } };
    const window = createModelWindow(AgentConfigSchema.parse(config), log);
    assert.deepEqual([window.tokens(), window.isPending(), window.isOpen()], [32_768, false, false]);
    assert.equal(window.source(), 'assumed: the provider of provider.package cannot be asked');
    assert.deepEqual(log.messages, [
      'warn: the context window of the model is assumed: set context_window in config.yaml',
    ]);
  });

  it('is known for the families of hosted models', () => {
    const tokensOf = (name: string): number => {
      const config = { model: `openai-compatible/${name}`, base_url: 'http://127.0.0.1:1' };
      return createModelWindow(AgentConfigSchema.parse(config), recordingLog()).tokens();
    };
    const named = ['gpt-4.1-mini', 'openai/gpt-4o', 'gpt-5', 'o3-mini', 'google/gemini-2.5-pro', 'gpt-4'];
    assert.deepEqual(named.map(tokensOf), [1_047_576, 128_000, 400_000, 200_000, 1_048_576, 8_192]);
    for (const name of ['o100', 'gpt-oss-20b', 'qwen3', 'gpt-40']) assert.equal(tokensOf(name), 32_768, name);
  });

  it('is that of config.yaml, whatever the provider states', async (t) => {
    const list = { [LIST]: listOf({ id: 'org/m', max_model_len: 40_960 }) };
    const { window, provider, hasChanged } = await learned(t, list, { context_window: 12_000 });
    assert.deepEqual([window.tokens(), window.source()], [12_000, 'context_window in config.yaml']);
    assert.deepEqual([provider.requests, hasChanged, window.learn(undefined)], [[], false, false]);
  });
});
