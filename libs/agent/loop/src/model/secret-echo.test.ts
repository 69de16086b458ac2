import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { APICallError } from 'ai';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { restartableServer } from '../../testing/restartable-server.ts';
import { AgentConfigSchema } from '../config/config-yaml.ts';
import { contextOverflow } from '../messages/context-overflow.ts';
import { cleanedError, secretsOf } from '../messages/secrets.ts';

const SECRETS = ['k3y!', 'h3ader"value', 'nested-option', 'nested-body'] as const;
const TOLD = `no: ${SECRETS.join(' ')}`;
const stream = (part: unknown): string => `data: ${JSON.stringify(part)}\n\n`;
const BEGUN = stream({ id: '1', choices: [{ index: 0, delta: { content: 'Hel' } }] });

const ANSWERS: readonly (readonly [what: string, status: number, body: string])[] = [
  ['a refusal', 400, JSON.stringify({ error: { message: TOLD } })],
  ['a refusal without JSON', 401, TOLD],
  ['an error in the stream', 200, BEGUN + stream({ error: { message: TOLD, code: TOLD } })],
  ['a part that is no JSON', 200, `${BEGUN}data: {${TOLD}\n\n`],
  ['a part of another form', 200, BEGUN + stream({ choices: TOLD })],
];

describe('what a provider quotes of the key, the headers, the options and the extra body', () => {
  for (const [what, status, body] of ANSWERS)
    it(`by ${what} is in no result, event or log line`, async (t) => {
      const answer: RequestListener = (request, response) =>
        void request.resume().once('end', () => response.writeHead(status).end(body));
      const { url } = await restartableServer(t, answer);
      const log = recordingLog();
      const agent = await makeAgent(
        t,
        {
          model: 'openai-compatible/m',
          base_url: url,
          api_key_env: 'KEY',
          headers: { 'x-a': SECRETS[1] },
          extra_body: { auth: [{ by: SECRETS[2] }], more: { and: SECRETS[3] } },
          model_calls: { broken_answers: 0 },
        },
        { log, env: { read: () => SECRETS[0] } },
      );
      const context = makeContext();
      const result = await agent.executor.run(makeTask('Hello?'), context);
      assert.equal(result.status, 'error');
      const all = inspect([result, context.events, context.checkpoints, log.entries], {
        depth: null,
        showHidden: true,
        maxStringLength: null,
      });
      for (const secret of [...SECRETS, JSON.stringify(SECRETS[1]).slice(1, -1)])
        assert.ok(!all.includes(secret), `${secret} in ${all}`);
      assert.match(inspect(log.entries, { depth: null }), /\[redacted\]/, 'the log has the reason');
    });

  it('is also taken from nested options of a package', () => {
    const config = AgentConfigSchema.parse({
      model: 'other/m',
      provider: { package: 'p', options: { auth: { keys: ['nested-option'] }, mode: 'fast' } },
    });
    assert.deepEqual(secretsOf(config, undefined), ['nested-option']);
  });
});

describe('the cleaned copy of an error', () => {
  const thrown = new APICallError({
    message: 'maximum context length is 8192 tokens, not k3y!',
    url: 'http://x/y?key=k3y!',
    requestBodyValues: { key: 'k3y!' },
    statusCode: 400,
    responseHeaders: { echo: 'k3y!' },
    responseBody: '{"error":{"message":"maximum context length is 8192 tokens, not k3y!"}}',
    cause: Object.assign(new Error('reset by k3y!'), { code: 'ECONNRESET' }),
  });

  it('of a call is one, with its status and its figures', () => {
    const copy = cleanedError(thrown, ['k3y!']);
    assert.ok(APICallError.isInstance(copy));
    assert.deepEqual(
      [copy.statusCode, copy.url, contextOverflow(copy)],
      [400, 'http://x/y', { limit: 8192 }],
    );
    assert.ok(copy.cause instanceof Error && 'code' in copy.cause && copy.cause.code === 'ECONNRESET');
    assert.match(copy.stack ?? '', /\n\s+at .*secret-echo\.test\.ts/);
    assert.doesNotMatch(inspect(copy, { depth: null, showHidden: true }), /k3y!/);
  });

  it('of causes in a circle ends, and of no error is one', () => {
    const circle = new Error('a');
    circle.cause = circle;
    assert.equal(cleanedError(circle, []).message, 'a');
    assert.equal(cleanedError('bad k3y!', ['k3y!']).message, 'bad [redacted]');
  });
});
