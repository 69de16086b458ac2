import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { AgentConfigSchema, createModel } from '@hermes-fleet/loop';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { SECRET } from '@hermes-fleet/workspace/testing';
import { rawProxy, USAGE } from '../testing/metered-proxy.ts';
import { createUpstream } from './upstream.ts';

for (const status of [302, 307, 308])
  test(`a redirect of the provider with ${status} is neither followed nor passed on, and ends the run`, async (t) => {
    const stolen: string[] = [];
    const other = createServer((request, response) => {
      stolen.push(`${request.method} ${request.url}`);
      response.end('{}');
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    let asked = 0;
    const { context, proxy, call, ends } = await rawProxy(
      t,
      (response) => {
        asked += 1;
        response.writeHead(status, { location: `http://127.0.0.1:${port}/there?key=${SECRET}` }).end('moved');
      },
      { limit: 10_000 },
    );
    for (const path of ['/v1/messages?beta=true', '/v1/messages/count_tokens?beta=true']) {
      const answer = await call({}, {}, path);
      // Claude Code repeats neither, and learns no address.
      assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [502, 'false']);
      assert.equal(answer.headers.get('location'), null);
      assert.doesNotMatch(await answer.text(), new RegExp(`${port}`));
      const failure = proxy.failure();
      assert.deepEqual([failure?.code, failure?.retryable], ['MODEL_FAILED', false]);
      const place = path.replace(/\?.*/, '');
      assert.match(
        failure?.message ?? '',
        new RegExp(
          `http://127\\.0\\.0\\.1:\\d+${place} redirects to http://127\\.0\\.0\\.1:${port}/there \\(HTTP ${status}\\)`,
        ),
      );
      assert.ok(!failure?.message.includes(SECRET));
    }
    assert.deepEqual([asked, stolen, ends], [2, [], [{ kind: 'refused', status }]]);
    assert.equal(context.budget.spent(), 0);
  });

const start = `data: ${JSON.stringify({ type: 'message_start', message: { usage: USAGE } })}\n\n`;
const token = `data: ${JSON.stringify({ type: 'content_block_delta', delta: { text: 'The sea.' } })}\n\n`;

for (const [key, sent] of [
  ['first_token_s', ''],
  ['first_token_s', start],
  ['idle_s', start + token],
] as const)
  test(`a provider that is silent after ${sent.length} bytes ends the call by ${key}, which the error names`, async (t) => {
    const { context, proxy, call, ends } = await rawProxy(
      t,
      (response) => {
        const pings = setInterval(() => sent !== '' && response.write('event: ping\ndata: {}\n\n'), 100);
        response.on('close', () => clearInterval(pings));
        if (sent !== '') response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sent);
      },
      { limit: 10_000, modelCalls: { [key]: 1 } },
    );
    const ended = await call()
      .then(async (answer) => {
        await answer.text();
        return answer.status;
      })
      .catch(() => 'cut');
    assert.equal(ended, sent === '' ? 502 : 'cut');
    const failure = proxy.failure();
    assert.deepEqual([failure?.code, failure?.retryable], ['MODEL_FAILED', true]);
    assert.match(failure?.message ?? '', /for 1 s|within 1 s/);
    assert.ok(failure?.message.includes(`(model_calls.${key})`), failure?.message);
    assert.equal(ends.at(-1)?.kind, 'broken');
    await proxy[Symbol.asyncDispose]();
    assert.ok(context.budget.spent() > 500, 'the provider may charge for what it has read');
  });

test('a count of tokens that never comes ends by first_token_s', async (t) => {
  const { proxy, call } = await rawProxy(t, () => undefined, {
    limit: 10_000,
    modelCalls: { first_token_s: 1 },
  });
  assert.equal((await call({}, {}, '/v1/messages/count_tokens')).status, 502);
  assert.match(proxy.failure()?.message ?? '', /sent no token within 1 s \(model_calls\.first_token_s\)/);
});

test('a body that cannot be written leaves no timer behind', async (t) => {
  const clock = manualClock();
  let timers = 0;
  const timer = (...args: Parameters<typeof clock.timer>) => {
    timers += 1;
    return clock.timer(...args);
  };
  const model = await createModel(
    AgentConfigSchema.parse({ model: 'anthropic/claude-sonnet-4-5' }),
    'sonnet',
    { read: () => SECRET },
    {},
  );
  const upstream = createUpstream({
    upstream: 'http://127.0.0.1:9',
    apiKey: SECRET,
    model,
    clock: { ...clock, timer },
  });
  const loop: { self?: object } = {};
  loop.self = loop;
  assert.throws(() => upstream.call('/v1/messages', loop, {}, t.signal), TypeError);
  assert.equal(timers, 0);
});
