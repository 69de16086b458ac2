import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startProvider } from '../../../testing/provider.ts';
import { AgentConfigSchema } from '../../config/config-yaml.ts';
import { type ProbedModel, probedModel, probeModel } from './probe-model.ts';

const LIST = 'GET /v1/models';
const CALL = 'POST /v1/chat/completions';
const env = { read: (name: string) => (name === 'KEY' ? 'the-key' : undefined) };

function probedAt(url: string): ProbedModel {
  const config = AgentConfigSchema.parse({
    model: 'openai-compatible/m',
    base_url: `${url}/v1/`,
    api_key_env: 'KEY',
  });
  return probedModel(config, env) ?? assert.fail('nothing to probe');
}

describe('a probe of a model', () => {
  /** The status of the list, of an empty call, the state, and what the detail says. */
  const ROWS: [number | undefined, number | undefined, string, RegExp][] = [
    [200, undefined, 'ok', /^answers$/],
    [404, undefined, 'ok', /^answers$/],
    [405, undefined, 'ok', /^answers$/],
    [501, undefined, 'ok', /^answers$/],
    [429, undefined, 'ok', /^answers$/],
    [302, 400, 'ok', /answered 302 when asked for its models/],
    [302, 307, 'error', /answered 307, a redirect, which is not followed: correct base_url in config\.yaml/],
    [401, 308, 'error', /answered 308, a redirect/],
    [500, undefined, 'error', /answered 500/],
    [503, undefined, 'error', /answered 503/],
    [401, 400, 'ok', /answered 401 when asked for its models/],
    [403, 422, 'ok', /answered 403 when asked for its models/],
    [401, 500, 'ok', /answered 401 when asked for its models/],
    [401, 401, 'error', /answered 401: check its key in config\.yaml/],
    [403, 403, 'error', /answered 403: check its key/],
    [undefined, undefined, 'timeout', /no answer within 0\.3 s/],
    [401, undefined, 'timeout', /no answer within 0\.3 s/],
  ];
  for (const [listed, called, state, says] of ROWS)
    it(`is ${state} when the list answers ${listed} and an empty call ${called}`, async (t) => {
      const provider = await startProvider(t);
      provider.answers = (request) => (request === LIST ? listed : called);
      const found = await probeModel(probedAt(provider.url), 300);
      assert.equal(found.state, state);
      assert.match(found.detail, says);
      const refused = listed === 401 || listed === 403 || listed === 302;
      assert.deepEqual(provider.requests, refused ? [LIST, CALL] : [LIST]);
      assert.equal(provider.headers().authorization, 'Bearer the-key');
    });

  it('names the error of a provider that nobody answers at, and neither its key nor its address', async (t) => {
    const provider = await startProvider(t);
    await provider.stop();
    const found = await probeModel(probedAt(provider.url), 300);
    assert.deepEqual(found, { state: 'error', detail: 'its provider could not be reached (ECONNREFUSED)' });
  });

  it('says in a container where this machine is, if the address is the container itself', async (t) => {
    const provider = await startProvider(t);
    await provider.stop();
    const inContainer = {
      read: (name: string) => (name === 'HERMES_MACHINE_HOST' ? 'machine.test' : undefined),
    };
    const hintAt = (baseUrl: string) => {
      const config = AgentConfigSchema.parse({ model: 'openai-compatible/m', base_url: baseUrl });
      return probedModel(config, inContainer)?.unreachableHint;
    };
    const itself = /^its address is that of the container itself; .* name machine\.test in base_url$/;
    for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]'])
      assert.match(hintAt(`http://${host}:8000/v1`) ?? '', itself, host);
    assert.match(
      hintAt('http://machine.test:8000/v1') ?? '',
      /must listen on an address that containers reach$/,
    );
    assert.equal(hintAt('https://models.test/v1'), undefined);

    const config = AgentConfigSchema.parse({ model: 'openai-compatible/m', base_url: `${provider.url}/v1` });
    const { detail } = await probeModel(probedModel(config, inContainer) ?? assert.fail(), 300);
    assert.match(
      detail,
      /^its provider could not be reached \(ECONNREFUSED\): its address is that of the container/,
    );
  });

  it('asks the API of Anthropic for one model, with its key and version', async (t) => {
    const provider = await startProvider(t);
    const config = { model: 'claude-haiku-4-5', base_url: provider.url, api_key_env: 'KEY' };
    const probed = probedModel(AgentConfigSchema.parse(config), env) ?? assert.fail();
    assert.equal((await probeModel(probed, 300)).state, 'ok');
    assert.deepEqual(provider.requests, ['GET /v1/models?limit=1']);
    assert.equal(provider.headers()['x-api-key'], 'the-key');
    assert.equal(provider.headers()['anthropic-version'], '2023-06-01');
  });

  it('asks where the calls go, if the environment moves them', () => {
    const moved = { read: (name: string) => (name === 'ANTHROPIC_BASE_URL' ? 'http://elsewhere/v1' : 'key') };
    const config = AgentConfigSchema.parse({ model: 'claude-x' });
    assert.equal(probedModel(config, moved)?.listUrl, 'http://elsewhere/v1/models?limit=1');
  });

  it('has nothing to ask without a provider', () => {
    assert.equal(probedModel(AgentConfigSchema.parse({ model: 'offline/runbook' }), env), undefined);
  });
});
