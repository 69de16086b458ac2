import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { manualClock, recordingLog } from '@hermes-fleet/protocol/testing';
import { startProvider } from '../../../testing/provider.ts';
import { AgentConfigSchema } from '../../config/config-yaml.ts';
import { createModelMonitor, type ModelMonitor } from './model-monitor.ts';
import { probedModel } from './probe-model.ts';

interface Settings {
  readonly interval_s?: number;
  readonly timeout_s?: number;
  readonly down_after?: number;
  readonly up_after?: number;
}

/** A monitor that probes only when the test says so, unless the interval is given. */
async function watched(t: TestContext, settings: Settings = {}, clock: Clock = systemClock) {
  const provider = await startProvider(t);
  const log = recordingLog();
  const monitor = createModelMonitor({
    config: AgentConfigSchema.parse({
      model: 'openai-compatible/m',
      base_url: `${provider.url}/v1`,
      model_probe: { interval_s: 3600, timeout_s: 0.2, ...settings },
    }),
    probed: (config) => probedModel(config, { read: () => undefined }),
    clock,
    log,
    random: () => 1,
  });
  t.after(() => monitor.close());
  const measure = () => monitor.probe({ maxAgeMs: 0, timeoutMs: 2_000 });
  return { provider, monitor, measure, log };
}

/** Resolves when the state is this one. */
function becomes(monitor: ModelMonitor, state: string): Promise<void> {
  return new Promise((resolve) => {
    if (monitor.health().state === state) return resolve();
    const watch = monitor.onChange(() => {
      if (monitor.health().state !== state) return;
      watch[Symbol.dispose]();
      resolve();
    });
  });
}

describe('the health of a model', () => {
  it('is an error until the first probe, which decides alone', async (t) => {
    const { monitor, measure } = await watched(t, { down_after: 5, up_after: 5 });
    assert.deepEqual(monitor.health(), { state: 'error', detail: 'was not probed yet' });
    assert.equal((await measure()).state, 'ok');
  });

  it('follows a provider that stops and comes back, by its own probes', { timeout: 20_000 }, async (t) => {
    const { provider, monitor, log } = await watched(t, { interval_s: 0.1 });
    await becomes(monitor, 'ok');
    await provider.stop();
    await becomes(monitor, 'error');
    assert.equal(monitor.health().detail, 'its provider could not be reached (ECONNREFUSED)');
    await provider.start();
    await becomes(monitor, 'ok');
    const health = log.messages.filter((line) => line.includes('healthy'));
    assert.deepEqual(health, [
      'info: model is healthy',
      'warn: model is not healthy',
      'info: model is healthy',
    ]);
  });

  it('does not change by one slow probe, and does by as many as are configured', async (t) => {
    const { provider, monitor, measure } = await watched(t, { down_after: 2 });
    await measure();
    provider.answers = () => undefined;
    await monitor.probe({ maxAgeMs: 0, timeoutMs: 250 });
    assert.equal(monitor.health().state, 'ok', 'one slow probe');
    assert.equal((await measure()).state, 'timeout', 'the second one in a row');
    provider.answers = () => 200;
    assert.equal((await measure()).state, 'ok');
  });

  it('comes back after as many successful probes in a row as are configured', async (t) => {
    const { provider, measure } = await watched(t, { down_after: 1, up_after: 2 });
    await measure();
    provider.answers = () => 503;
    assert.equal((await measure()).state, 'error');
    provider.answers = () => 200;
    assert.equal((await measure()).state, 'error');
    assert.equal((await measure()).state, 'ok');
  });

  it('is asked until single failures decide, so that an admission knows', async (t) => {
    const { provider, measure } = await watched(t, { down_after: 3 });
    await measure();
    await provider.stop();
    assert.equal((await measure()).state, 'error');
  });

  it('is not asked again while the evidence is young', async (t) => {
    const { provider, monitor, measure } = await watched(t);
    await measure();
    const asked = provider.requests.length;
    await monitor.probe({ maxAgeMs: 60_000, timeoutMs: 2_000 });
    monitor.calls.ended({ kind: 'answered' });
    await monitor.probe({ maxAgeMs: 60_000, timeoutMs: 2_000 });
    assert.equal(provider.requests.length, asked);
  });

  it('gives the first probe its whole time, so that a task right after the start is not refused', async (t) => {
    const { monitor } = await watched(t, { timeout_s: 5 });
    assert.equal((await monitor.probe({ maxAgeMs: 60_000, timeoutMs: 1 })).state, 'ok');
  });

  it('bounds the wait for a probe, which goes on', async (t) => {
    const { provider, monitor, measure } = await watched(t, { timeout_s: 10 });
    await measure();
    provider.answers = () => undefined;
    const startedAt = performance.now();
    assert.equal((await monitor.probe({ maxAgeMs: 0, timeoutMs: 100 })).state, 'ok');
    assert.ok(performance.now() - startedAt < 2_000);
  });

  it('does not take a provider that is busy with a call of ours for a dead one', async (t) => {
    const { provider, monitor, measure } = await watched(t, { down_after: 1 });
    await measure();
    const call = monitor.calls.begin();
    provider.answers = () => undefined;
    await monitor.probe({ maxAgeMs: 0, timeoutMs: 500 });
    assert.equal(monitor.health().state, 'ok');
    call[Symbol.dispose]();
    assert.equal((await measure()).state, 'timeout');
  });

  for (const [what, end, state] of [
    ['an unreachable provider', { kind: 'unreachable' }, 'error'],
    ['a rejected key', { kind: 'refused', status: 401 }, 'error'],
    ['a missing right', { kind: 'refused', status: 403 }, 'error'],
    ['a server error', { kind: 'refused', status: 500 }, 'error'],
    ['an overloaded server', { kind: 'refused', status: 529 }, 'error'],
    ['too many requests', { kind: 'refused', status: 429 }, 'ok'],
    ['a context that is too long', { kind: 'refused', status: 400 }, 'ok'],
    ['a request that is too long', { kind: 'refused', status: 413 }, 'ok'],
    ['a method that is not there', { kind: 'refused', status: 501 }, 'ok'],
  ] as const)
    it(`is ${state} at once after a call that ended by ${what}`, async (t) => {
      const { monitor, measure } = await watched(t, { down_after: 5 });
      await measure();
      monitor.calls.ended(end);
      assert.equal(monitor.health().state, state);
    });

  it('is asked before one broken call keeps a task from it', async (t) => {
    const { monitor, measure } = await watched(t);
    await measure();
    monitor.calls.ended({ kind: 'unreachable' });
    assert.equal((await monitor.probe({ maxAgeMs: 60_000, timeoutMs: 5_000 })).state, 'ok');
  });

  it('is ok at once after a call that was answered', async (t) => {
    const { provider, monitor, measure } = await watched(t, { up_after: 5 });
    provider.answers = () => 503;
    assert.equal((await measure()).state, 'error');
    monitor.calls.ended({ kind: 'answered' });
    assert.equal(monitor.health().state, 'ok');
  });

  it('stays an error after a refused call although the list answers, until a call may be tried again', async (t) => {
    const { provider, monitor, measure } = await watched(t);
    await measure();
    monitor.calls.ended({ kind: 'refused', status: 500 });
    const asked = provider.requests.length;
    assert.equal((await measure()).state, 'error');
    assert.equal(provider.requests.length, asked, 'nobody is asked, because the answer proves nothing');
  });

  it('is held an error for 5 s, then for twice as long, however many attempts fail together', async (t) => {
    const clock = manualClock(0);
    const { monitor, measure } = await watched(t, {}, clock);
    await measure();
    const stateAfter = async (ms: number): Promise<string> => {
      clock.advance(ms);
      return (await measure()).state;
    };
    const refuse = (): void => {
      for (let attempt = 0; attempt < 3; attempt += 1) monitor.calls.ended({ kind: 'refused', status: 500 });
    };
    refuse();
    assert.deepEqual([await stateAfter(4_999), await stateAfter(1)], ['error', 'ok']);
    refuse();
    assert.deepEqual([await stateAfter(9_999), await stateAfter(1)], ['error', 'ok']);
    monitor.calls.ended({ kind: 'answered' });
    refuse();
    assert.deepEqual([await stateAfter(4_999), await stateAfter(1)], ['error', 'ok']);
  });

  it('asks at once when an answer breaks off', async (t) => {
    const { provider, monitor, measure } = await watched(t, { down_after: 1 });
    await measure();
    await provider.stop();
    monitor.calls.ended({ kind: 'broken' });
    await becomes(monitor, 'error');
  });

  it('does not believe a probe that began before a call failed', async (t) => {
    const { provider, monitor, measure } = await watched(t);
    await measure();
    const asked = Promise.withResolvers<void>();
    provider.answers = () => {
      monitor.calls.ended({ kind: 'unreachable' });
      asked.resolve();
      return 200;
    };
    const probing = monitor.probe({ maxAgeMs: 0, timeoutMs: 100 });
    await asked.promise;
    await probing;
    assert.equal(monitor.health().state, 'error');
  });

  it('is not measured any more after close', async (t) => {
    const { provider, monitor, measure } = await watched(t);
    await measure();
    monitor.close();
    const asked = provider.requests.length;
    monitor.calls.ended({ kind: 'unreachable' });
    await measure();
    assert.deepEqual([provider.requests.length, monitor.health().state], [asked, 'ok']);
  });

  it('is ok without a provider', async () => {
    const monitor = createModelMonitor({
      config: AgentConfigSchema.parse({ model: 'openai-compatible/m', base_url: 'http://127.0.0.1:1/v1' }),
      probed: () => undefined,
      clock: systemClock,
      log: recordingLog(),
    });
    assert.equal(monitor.health().state, 'ok');
    assert.equal((await monitor.probe({ maxAgeMs: 0, timeoutMs: 100 })).state, 'ok');
  });
});

describe('the window of a model', () => {
  it('is learnt when the provider comes up, before the model is healthy, and is announced', async (t) => {
    const { provider, monitor, measure } = await watched(t);
    provider.body = (request) =>
      request === 'GET /v1/models' ? { data: [{ id: 'm', max_model_len: 99_000 }] } : {};
    provider.answers = () => 503;
    await measure();
    assert.deepEqual([monitor.window.tokens(), monitor.window.isPending()], [32_768, true]);
    provider.answers = () => 200;
    const seen: number[] = [];
    monitor.onChange(() => seen.push(monitor.window.tokens()));
    await measure();
    assert.deepEqual([monitor.health().state, seen], ['ok', [99_000]]);
  });

  it('is asked for again after the provider was away', async (t) => {
    const { provider, monitor, measure } = await watched(t, { down_after: 5 });
    let tokens = 50_000;
    provider.body = () => ({ data: [{ id: 'm', max_model_len: tokens }] });
    await measure();
    assert.equal(monitor.window.tokens(), 50_000);
    tokens = 20_000;
    await measure();
    assert.equal(monitor.window.tokens(), 50_000, 'not asked at every probe');
    await provider.stop();
    await monitor.probe({ maxAgeMs: 0, timeoutMs: 250 });
    await provider.start();
    await measure();
    assert.equal(monitor.window.tokens(), 20_000);
  });

  it('is announced when it becomes known while the model is healthy', async (t) => {
    const { provider, monitor, measure } = await watched(t);
    const models: object[] = [];
    provider.body = (request) => {
      if (request === 'POST /api/show') return { model_info: { 'm.context_length': 90_000 } };
      return request === 'GET /api/ps' ? { models } : {};
    };
    await measure();
    assert.equal(monitor.health().state, 'ok');
    models.push({ model: 'm', context_length: 8_000 });
    const seen: number[] = [];
    monitor.onChange(() => seen.push(monitor.window.tokens()));
    await measure();
    assert.deepEqual(seen, [8_000]);
  });
});
