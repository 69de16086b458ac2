import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import type { z } from 'zod';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { restartableServer } from '../../testing/restartable-server.ts';
import { AgentConfigSchema } from '../config/config-yaml.ts';
import { endpointOf, modelKey } from '../config/provider-address.ts';
import { createModel } from './create-model.ts';

const KEYS: Record<string, string> = { OPENAI_API_KEY: 'key-a', OPENROUTER_API_KEY: 'key-b' };
const env = { read: (name: string) => KEYS[name] };
const ANSWER = `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' }], usage: { prompt_tokens: 900, completion_tokens: 2, total_tokens: 902 } })}\n\n`;

interface Call {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

/** A chat-completions server; `refuse` returns the message of a 400 for a body, or undefined. */
async function chatServer(
  t: TestContext,
  refuse: (body: JsonObject) => string | undefined = () => undefined,
) {
  const calls: Call[] = [];
  const { url } = await restartableServer(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (!isJsonObject(body)) assert.fail('no object');
    calls.push({ path: request.url ?? '', headers: request.headers, body });
    const message = refuse(body);
    if (message === undefined) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWER);
    else
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message } }));
  });
  const run = async (config: z.input<typeof AgentConfigSchema>) => {
    const agent = await makeAgent(t, { base_url: `${url}/v1`, ...config }, { env });
    const context = makeContext({ limit: 100_000 });
    return { result: await agent.executor.run(makeTask('Hello?'), context), context, agent };
  };
  return { calls, run, url };
}

describe('a hosted provider', () => {
  for (const [model, key, name, limit] of [
    ['openai/gpt-x', 'key-a', 'gpt-x', 'max_completion_tokens'],
    ['openrouter/vendor/m:free', 'key-b', 'vendor/m:free', 'max_tokens'],
  ] as const)
    it(`is called for ${model} with its key and its name of the output limit`, async (t) => {
      const { calls, run } = await chatServer(t);
      assert.equal((await run({ model })).result.status, 'done');
      const [{ path, headers, body }] = [calls[0] ?? assert.fail()];
      assert.deepEqual([path, headers.authorization], ['/v1/chat/completions', `Bearer ${key}`]);
      assert.deepEqual([body.model, limit in body], [name, true]);
      assert.equal('max_tokens' in body && 'max_completion_tokens' in body, false);
    });

  it('has an address and a key of its own, and needs the key', () => {
    const of = (model: string, { read } = env) => {
      const { provider } = { provider: model.startsWith('openai/') ? 'openai' : 'openrouter' } as const;
      const key = (name: string) => modelKey({ read }, name, model);
      return endpointOf(AgentConfigSchema.parse({ model }), { provider }, key).baseUrl;
    };
    assert.deepEqual(
      [of('openai/m'), of('openrouter/m')],
      ['https://api.openai.com/v1', 'https://openrouter.ai/api/v1'],
    );
    assert.throws(() => of('openai/m', { read: () => undefined }), /needs a key in OPENAI_API_KEY/);
  });
});

describe('the request of a call', () => {
  it('is sent again with the name of the output limit that the provider takes, once for all calls', async (t) => {
    const text =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const { calls, run } = await chatServer(t, (body) => ('max_tokens' in body ? text : undefined));
    const { result, context, agent } = await run({ model: 'openai-compatible/m' });
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(context.budget.spent(), 902, 'the refusal costs nothing');
    await agent.executor.run(makeTask('Again?', { contextId: 'second' }), makeContext());
    assert.deepEqual(
      calls.map(({ body }) => Object.keys(body).filter((key) => key.startsWith('max_'))),
      [['max_tokens'], ['max_completion_tokens'], ['max_completion_tokens']],
    );
    assert.equal(calls[1]?.body.max_completion_tokens, calls[0]?.body.max_tokens);
  });

  it('is not sent again for a limit that is too high, or when both names are refused', async (t) => {
    const high = await chatServer(t, () => 'max_tokens is too large: 8192');
    assert.equal((await high.run({ model: 'openai-compatible/m' })).result.status, 'error');
    assert.equal(high.calls.length, 1);
    const both = await chatServer(t, () => 'unsupported: max_tokens, max_completion_tokens');
    assert.equal((await both.run({ model: 'openai-compatible/m' })).result.status, 'error');
    assert.equal(both.calls.length, 2);
  });

  it('has the temperature, the effort, the headers and the extra body of config.yaml', async (t) => {
    const { calls, run } = await chatServer(t);
    const config = {
      model: 'openai-compatible/m',
      temperature: 0.2,
      effort: 'low' as const,
      headers: { 'X-Team': 'blue' },
      extra_body: { top_k: 20, chat_template_kwargs: { enable_thinking: false } },
    };
    assert.equal((await run(config)).result.status, 'done');
    const { body, headers } = calls[0] ?? assert.fail();
    assert.deepEqual(
      [body.temperature, body.reasoning_effort, body.top_k, body.chat_template_kwargs, headers['x-team']],
      [0.2, 'low', 20, { enable_thinking: false }, 'blue'],
    );
  });

  it('has none of them by default', async (t) => {
    const { calls, run } = await chatServer(t);
    await run({ model: 'openai-compatible/m' });
    const { body } = calls[0] ?? assert.fail();
    assert.deepEqual(
      Object.keys(body).toSorted(),
      ['max_tokens', 'messages', 'model', 'stream', 'stream_options', 'tool_choice', 'tools'].toSorted(),
    );
  });
});

/** The folder of a fleet with an installed package. */
function installed(
  t: TestContext,
  name: string,
  code: string,
  exports: JsonObject | string = './index.js',
): string {
  const dir = tempDir(t);
  const folder = join(dir, 'packages/node_modules', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name, version: '1.2.3', type: 'module', exports }),
  );
  writeFileSync(join(folder, 'index.js'), code);
  return dir;
}

const COMPATIBLE = import.meta.resolve('@ai-sdk/openai-compatible');
const FACTORY = `import { createOpenAICompatible } from ${JSON.stringify(COMPATIBLE)};
export const createOther = (options) => createOpenAICompatible({ name: 'other', ...options });
export const createAlias = createOther;
export const other = createOther({ baseURL: 'http://127.0.0.1:1' });
`;

describe('a package of another provider', () => {
  const config = {
    model: 'other/m-1',
    provider: { package: '@scope/other', options: { queryParams: { v: '2' } } },
  };
  const at = (dir: string) => ({
    read: (name: string) => (name === 'HERMES_HOME' ? dir : name === 'OTHER_KEY' ? 'key-c' : undefined),
  });

  it('is loaded from the folder of the fleet, and called with its options, key, headers and address', async (t) => {
    const dir = installed(t, '@scope/other', FACTORY);
    const { calls, url } = await chatServer(t);
    const agent = await makeAgent(
      t,
      {
        ...config,
        base_url: `${url}/v9`,
        api_key_env: 'OTHER_KEY',
        headers: { 'x-team': 'blue' },
      },
      { env: at(dir) },
    );
    const context = makeContext();
    assert.equal((await agent.executor.run(makeTask('Hello?'), context)).status, 'done');
    const { path, headers, body } = calls[0] ?? assert.fail();
    assert.deepEqual(
      [path, headers.authorization, headers['x-team'], body.model],
      ['/v9/chat/completions?v=2', 'Bearer key-c', 'blue', 'm-1'],
    );
    assert.equal(agent.executor.model.id, 'other/m-1');
  });

  it('may export its code for import only', async (t) => {
    const entries: JsonObject[] = [
      { types: './index.d.ts', import: './index.js' },
      { node: { import: './index.js' } },
    ];
    for (const entry of entries) {
      const dir = installed(t, '@scope/other', FACTORY, { './package.json': './package.json', '.': entry });
      const model = await createModel(
        AgentConfigSchema.parse({ ...config, base_url: 'http://127.0.0.1:1' }),
        'opus',
        at(dir),
      );
      assert.equal(model.info.id, 'other/m-1');
    }
  });

  const rejects = (dir: string, provider: object, message: RegExp) =>
    assert.rejects(
      createModel(AgentConfigSchema.parse({ ...config, provider }), 'opus', at(dir)),
      (error) =>
        error instanceof FleetError && error.code === 'CONFIG_INVALID' && message.test(error.message),
    );

  it('names itself when it is missing, and how to install it', async (t) => {
    const dir = tempDir(t);
    const missing = (name: string) =>
      new RegExp(
        `^config\\.yaml provider\\.package: ${name} is not in ${dir}/packages: run fleet add ${name}$`,
      );
    await rejects(dir, config.provider, missing('@scope/other'));
    const above = join(dir, 'node_modules/above');
    mkdirSync(above, { recursive: true });
    writeFileSync(join(above, 'package.json'), '{ "version": "1.0.0", "exports": "./index.js" }');
    writeFileSync(join(above, 'index.js'), FACTORY);
    await rejects(dir, { package: 'above' }, missing('above'));
  });

  it('is not looked for while a variable of 0.2.0 names another place', async (t) => {
    const dir = installed(t, '@scope/other', FACTORY);
    for (const variable of ['MODEL_PACKAGES_DIR', 'CLAUDE_AGENT_SDK_DIR'])
      await assert.rejects(
        createModel(AgentConfigSchema.parse(config), 'opus', {
          read: (name) => (name === variable ? '/opt/packages' : at(dir).read(name)),
        }),
        new RegExp(`${variable} is not read any more: unset it, and .+ by fleet add @scope/other$`),
      );
  });

  it('that is not of the family, or needs a choice, says so', async (t) => {
    const dir = installed(t, 'two', 'export const createA = () => {}; export const createB = () => {};');
    await rejects(
      dir,
      { package: 'two' },
      /provider\.factory: two exports several functions: name one of createA, createB/,
    );
    await rejects(dir, { package: 'two', factory: 'createC' }, /two exports no function createC\(\)/);
    await rejects(
      dir,
      { package: 'two', factory: 'createA' },
      /two makes no language model of version v4: install a release for ai 7, by fleet add two@<release>$/,
    );
    await rejects(installed(t, 'none', 'export {};'), { package: 'none' }, /none exports no function create/);
  });

  it('must be a name, and the model must have one', () => {
    const problems = (value: object): string =>
      AgentConfigSchema.safeParse(value)
        .error?.issues.map(({ message }) => message)
        .join('; ') ?? '';
    assert.match(problems({ ...config, provider: { package: '../evil' } }), /name of an npm package/);
    assert.match(problems({ ...config, model: 'gemini' }), /use a word and the name at the provider/);
  });
});
