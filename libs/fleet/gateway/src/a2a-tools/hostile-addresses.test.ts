import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { a2aTools, testCall, told } from '../../testing/call-tool.ts';
import { cardAt, oddAgent, taskOf } from '../../testing/odd-agent.ts';
import { completed, registered, say, TOKEN } from '../../testing/odd-calls.ts';

describe('an agent that refers to another address', () => {
  it('is called at its registered address when its card names a loopback host', async (t) => {
    const elsewhere = await oddAgent(t, {});
    for (const host of ['localhost', '127.0.0.1', '0.0.0.0', '[::1]']) {
      const agent = await oddAgent(t, {
        card: () => cardAt(`http://${host}:${elsewhere.port}/rpc`),
        reply: () => ({ task: completed('here') }),
      });
      const result = await say(agent);
      assert.equal(result.ok, true, JSON.stringify(result));
      assert.deepEqual([agent.calls.length, agent.tokens.at(-1)], [1, `Bearer ${TOKEN}`]);
    }
    assert.deepEqual(elsewhere.calls, []);
  });

  const inside = [
    'http://10.0.0.7/rpc',
    'http://169.254.169.254/latest',
    'http://192.168.0.1:8080/',
    'http://[fd00::1]/',
  ];
  for (const url of inside) {
    it(`is not called at ${url}, and its token is not sent`, async (t) => {
      const agent = await oddAgent(t, { card: () => cardAt(url) });
      const { ok, output } = await say(agent);
      assert.equal(ok, false);
      assert.match(
        String(output),
        /odd did not take it: .* has no public address; an internal agent has to be registered/,
      );
      assert.deepEqual([agent.calls, agent.tokens], [[], [undefined]]);
    });
  }

  it('is refused when it is unregistered and its card names an internal URL', async (t) => {
    const elsewhere = await oddAgent(t, {});
    const agent = await oddAgent(t, { card: () => cardAt(`${elsewhere.base}/rpc`) });
    const tools = a2aTools({ allowInternal: [`127.0.0.1:${agent.port}`] });
    const result = await tools('a2a_call').run({ url: agent.base, message: 'x' }, testCall());
    assert.match(String(result.output), /"127\.0\.0\.1" has no public address/);
    const discovered = await tools('a2a_discover').run({ url: agent.base }, testCall());
    assert.equal(discovered.ok, true);
    assert.deepEqual(elsewhere.calls, []);
  });

  it('is refused when it redirects, and its token is not sent', async (t) => {
    const elsewhere = await oddAgent(t, { reply: () => ({ task: completed('got it') }) });
    const agent = await oddAgent(t, {
      reply: (_call, _request, response) => {
        response.writeHead(307, { location: `${elsewhere.base}/rpc` }).end();
        return undefined;
      },
    });
    const { ok, output } = await say(agent);
    assert.equal(ok, false);
    assert.match(String(output), /a redirect, which is not followed/);
    assert.deepEqual([elsewhere.calls, elsewhere.tokens], [[], []]);
  });
});

describe('an unregistered agent', () => {
  it('is not called at an internal address', async (t) => {
    const agent = await oddAgent(t, {});
    const tools = a2aTools();
    for (const url of [
      agent.base,
      agent.base.replace('127.0.0.1', 'localhost'),
      'http://0x7f.1:80/',
      'http://[::1]/',
    ]) {
      for (const tool of ['a2a_discover', 'a2a_call', 'a2a_call_streaming', 'a2a_get_task']) {
        const input = { url, ...(tool.startsWith('a2a_call') ? { message: 'x' } : {}) };
        const rest = tool === 'a2a_get_task' ? { task_id: 't' } : {};
        const { ok, output } = await tools(tool).run({ ...input, ...rest }, testCall());
        assert.equal(ok, false);
        assert.match(String(output), /has no public address; an internal agent has to be registered/);
      }
    }
    assert.deepEqual([agent.calls, agent.tokens], [[], []]);
  });

  it('gets no token, even on the host of a registered agent', async (t) => {
    const agent = await oddAgent(t, { reply: () => ({ task: completed('hi') }) });
    const tools = registered(agent, { allowInternal: ['127.0.0.1'] });
    const other = await tools('a2a_call').run({ url: `${agent.base}/other`, message: 'x' }, testCall());
    assert.equal(other.ok, true, JSON.stringify(other));
    assert.deepEqual([...new Set(agent.tokens)], [undefined]);
    const same = await tools('a2a_call').run({ url: `${agent.base}/`, message: 'x' }, testCall());
    assert.deepEqual([told(same).agent, agent.tokens.at(-1)], ['odd', `Bearer ${TOKEN}`]);
  });

  const wrong: [url: string, words: RegExp][] = [
    ['nonsense', /is not a url/],
    ['file:///etc/passwd', /only http and https/],
    ['http://me:secret@example.com/', /holds credentials/],
  ];
  for (const [url, words] of wrong) {
    it(`is not looked for at ${url}`, async () => {
      const { ok, output } = await a2aTools()('a2a_discover').run({ url }, testCall());
      assert.equal(ok, false);
      assert.match(String(output), words);
      assert.doesNotMatch(String(output), /secret/);
    });
  }
});

describe('a token', () => {
  it('is removed from a result that repeats it', async (t) => {
    const echo = (text: string): JsonObject => ({ text: `you sent ${text}` });
    const agent = await oddAgent(t, {
      reply: (_call, request) => {
        const seen = String(request.headers.authorization);
        return {
          task: taskOf('COMPLETED', {
            status: { state: 'TASK_STATE_COMPLETED', message: { messageId: 'm', parts: [echo(seen)] } },
            artifacts: [
              {
                artifactId: 'a',
                name: seen,
                parts: [echo(seen), { data: { seen } }, { url: `http://x/${seen}` }],
              },
              {
                artifactId: 'b',
                parts: [
                  { raw: Buffer.from(seen).toString('base64'), mediaType: 'text/plain', filename: seen },
                ],
              },
            ],
          }),
        };
      },
    });
    const call = testCall();
    const result = await say(agent, call);
    assert.equal(agent.tokens.at(-1), `Bearer ${TOKEN}`);
    const seen = JSON.stringify([result, call.events, call.memos]);
    assert.match(seen, /you sent Bearer \[token\]/);
    assert.ok(!seen.includes(TOKEN), seen);
  });

  it('does not reach the model through an ID, a refusal or a card', async (t) => {
    const agent = await oddAgent(t, {
      card: (base) => cardAt(`${base}/rpc`, { capabilities: {}, description: `I know ${TOKEN}` }),
      reply({ params }, _request, response) {
        const wire = JSON.stringify(params);
        if (!wire.includes('refuse'))
          return { task: { ...taskOf('COMPLETED', { contextId: TOKEN }), id: TOKEN } };
        const field = {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: TOKEN }],
        };
        const error = { code: -32602, message: TOKEN, data: [field] };
        response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error }));
        return undefined;
      },
    });
    const tools = registered(agent);
    const results = [
      await tools('a2a_call').run({ name: 'odd', message: 'x' }, testCall()),
      await tools('a2a_call').run({ name: 'odd', message: 'refuse' }, testCall()),
      await tools('a2a_discover').run({ name: 'odd' }, testCall()),
    ];
    assert.deepEqual(
      results.map(({ ok }) => ok),
      [true, false, true],
    );
    assert.ok(!JSON.stringify(results).includes(TOKEN), JSON.stringify(results));
    assert.equal(agent.tokens.at(-1), `Bearer ${TOKEN}`);
  });

  it('is reported by the name of its variable when it is missing', async (t) => {
    const agent = await oddAgent(t, {});
    const tools = registered(agent, { env: { read: () => undefined } });
    const { ok, output } = await tools('a2a_call').run({ name: 'odd', message: 'x' }, testCall());
    assert.deepEqual(
      [ok, output],
      [false, 'the token for odd is missing: the variable ODD_TOKEN is not set'],
    );
    assert.deepEqual(agent.calls, []);
  });
});
