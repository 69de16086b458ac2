import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { restartableServer } from '../../testing/restartable-server.ts';
import { say, scriptedServer } from '../../testing/scripted-server.ts';
import { AgentConfigSchema } from '../config/config-yaml.ts';
import { testCall } from '../test-call.ts';
import type { ModelCallEnd } from './call/model-calls.ts';
import { askWindow } from './probe/ask-window.ts';
import { probedModel, probeModel } from './probe/probe-model.ts';

const KEY = 'the-key-of-the-provider';
const SECRET = 'the-secret-of-a-header';

/** A provider that redirects every request to another origin, which takes what it gets. */
async function redirecting(t: TestContext, status: number) {
  const second: string[] = [];
  const first: IncomingMessage[] = [];
  const other = await restartableServer(t, (request, response) => {
    second.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.end('{}');
  });
  const provider = await restartableServer(t, (request, response) => {
    request.resume();
    first.push(request);
    response.writeHead(status, { location: `${other.url}${request.url}?key=${KEY}` }).end('moved');
  });
  return { url: provider.url, otherUrl: other.url, first, second };
}

const COMPATIBLE = import.meta.resolve('@ai-sdk/openai-compatible');

/** A folder with a package of another provider. */
function packages(t: TestContext): string {
  const dir = tempDir(t);
  const folder = join(dir, 'packages/node_modules/other');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'other', version: '1.0.0', type: 'module', exports: './x.js' }),
  );
  const code = `import { createOpenAICompatible } from ${JSON.stringify(COMPATIBLE)};
export const createOther = (options) => createOpenAICompatible({ name: 'other', ...options });`;
  writeFileSync(join(folder, 'x.js'), code);
  return dir;
}

const KINDS: [model: string, more: object][] = [
  ['anthropic/claude-x', {}],
  ['openai/gpt-x', {}],
  ['openrouter/vendor/m', {}],
  ['openai-compatible/m', {}],
  ['other/m', { provider: { package: 'other' } }],
];

describe('a provider that redirects calls', () => {
  for (const [model, more] of KINDS)
    for (const status of [302, 307, 308])
      it(`of ${model} with ${status} ends the run at once, and the other origin sees nothing`, async (t) => {
        const { url, otherUrl, first, second } = await redirecting(t, status);
        const dir = packages(t);
        const env = {
          read: (name: string) => (name === 'HERMES_HOME' ? dir : name === 'KEY' ? KEY : undefined),
        };
        const config = {
          ...{ model, base_url: `${url}/v1`, api_key_env: 'KEY', headers: { 'X-Team': SECRET } },
          ...more,
        };
        const ends: ModelCallEnd[] = [];
        const modelCalls = {
          begin: () => ({ [Symbol.dispose]: () => undefined }),
          ended: (end: ModelCallEnd) => void ends.push(end),
        };
        const agent = await makeAgent(t, config, { env, model: { calls: modelCalls } });
        const context = makeContext({ limit: 50_000 });
        const { error, status: outcome } = await agent.executor.run(makeTask('A secret brief.'), context);
        assert.deepEqual([outcome, error?.code, error?.retryable], ['error', 'model_failed', false]);
        const message = error?.message ?? '';
        const path = first[0]?.url ?? '';
        assert.ok(
          message.includes(`${url}${path} redirects to ${otherUrl}${path} (HTTP ${status})`),
          message,
        );
        assert.match(
          message,
          /are not followed; if the second address is the provider's, set base_url in config\.yaml to it$/,
        );
        assert.deepEqual([first.length, second, context.budget.spent()], [1, [], 0]);
        assert.deepEqual(ends, [{ kind: 'refused', status }]);
        for (const secret of [KEY, SECRET]) assert.ok(!JSON.stringify(error).includes(secret), secret);
        const tried = await testCall(AgentConfigSchema.parse(config), env, 20_000);
        assert.deepEqual([tried.isOk, second], [false, []]);
        assert.match(tried.detail, /redirects are not followed/);
      });

  it('is passed over for a fallback', async (t) => {
    const { url, first, second } = await redirecting(t, 307);
    const answering = await scriptedServer(t, () => say('Hello.'));
    const fallback = { model: 'openai-compatible/second', base_url: answering.url };
    const config = { model: 'openai-compatible/m', base_url: url, fallback_models: [fallback] };
    const agent = await makeAgent(t, config);
    const result = await agent.executor.run(makeTask('Hello?'), makeContext({ limit: 50_000 }));
    assert.deepEqual([result.status, first.length, second], ['done', 1, []], JSON.stringify(result));
  });

  it('is not healthy, and states no window, and its probes are not redirected', async (t) => {
    const { url, second } = await redirecting(t, 307);
    for (const model of ['anthropic/claude-x', 'openai-compatible/m']) {
      const config = AgentConfigSchema.parse({ model, base_url: url, api_key_env: 'KEY' });
      const probed = probedModel(config, { read: () => KEY }) ?? assert.fail('nothing to probe');
      assert.deepEqual(await probeModel(probed, 5_000), {
        state: 'error',
        detail:
          'its provider answered 307, a redirect, which is not followed: correct base_url in config.yaml',
      });
      assert.equal(await askWindow(probed, AbortSignal.timeout(5_000)), undefined);
    }
    assert.deepEqual(second, []);
  });
});
