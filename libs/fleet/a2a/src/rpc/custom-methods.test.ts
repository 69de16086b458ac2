import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { at, READ_TOKEN, serve } from '../../testing/serve.ts';
import type { CustomMethod, CustomMethodCall } from './exchange.ts';
import type { RefusedRequest } from './refused-request.ts';

/** A method that records its calls. */
function recording(reply: Partial<Awaited<ReturnType<CustomMethod['run']>>> = {}) {
  const calls: CustomMethodCall[] = [];
  const run: CustomMethod['run'] = async (call) => {
    calls.push(call);
    return { status: 200, result: { done: true }, ...reply };
  };
  return { calls, run };
}

const DEEP = `${'['.repeat(5_000)}1${']'.repeat(5_000)}`;

test('a custom method receives the raw text of its params, whatever they are', async (t) => {
  const own = recording();
  const served = await serve(t, { methods: { decide: own } });
  const payloads = [
    '{"a":1e400, "a" : "\\ud800",\n "__proto__":{"x":1}}',
    '"text"',
    '[1,2]',
    'null',
    DEEP,
    ' {"after":"spaces"}',
  ];
  for (const params of payloads) {
    const answer = await served.post(`{"jsonrpc":"2.0","id":"x","method":"decide","params":${params}}`, {
      token: READ_TOKEN,
      headers: { 'a2a-version': '9.9' },
    });
    assert.deepEqual(
      [answer.status, answer.text],
      [200, '{"jsonrpc":"2.0","id":"x","result":{"done":true}}'],
    );
  }
  await served.post({ jsonrpc: '2.0', id: 1, method: 'decide' }, { token: READ_TOKEN });
  assert.deepEqual(
    own.calls.map(({ paramsText }) => paramsText),
    [...payloads.map((text) => text.trim()), undefined],
  );
  assert.ok(own.calls.every(({ caller }) => caller.name === 'reader'));
  assert.match(own.calls[0]?.traceparent ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-/);
});

test('duplicate params are refused before a custom method runs', async (t) => {
  const own = recording();
  const refusals: RefusedRequest[] = [];
  const served = await serve(t, {
    methods: { decide: own },
    onRefused: async (refused) => void refusals.push(refused),
  });
  const body = '{"jsonrpc":"2.0","id":1,"method":"decide","params":{"a":1},"par\\u0061ms":{"a":2}}';
  assert.equal(at((await served.post(body)).body, 'error', 'code'), -32600);
  assert.deepEqual(
    refusals.map(({ text, method, error }) => [text, method, error.code]),
    [[body, 'decide', 'INVALID_REQUEST']],
  );
  assert.deepEqual(own.calls, []);
});

test('a custom method sets HTTP status and headers, and takes precedence over an A2A method', async (t) => {
  const own = recording({ status: 429, headers: { 'retry-after': '3' } });
  const served = await serve(t, { methods: { GetTask: own } });
  const answer = await served.rpc('GetTask', { id: 'x' });
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '3']);
  assert.deepEqual(answer.body.result, { done: true });
  assert.equal((await served.post({ jsonrpc: '2.0', method: 'GetTask', params: { id: 'y' } })).status, 204);
  assert.deepEqual(
    own.calls.map(({ paramsText }) => paramsText),
    ['{"id":"x"}', '{"id":"y"}'],
  );
});

test('an error of a custom method is a JSON-RPC error and not a refusal', async (t) => {
  const refusals: RefusedRequest[] = [];
  const throwing = (error: Error): CustomMethod => ({
    run: async () => {
      throw error;
    },
  });
  const served = await serve(t, {
    methods: {
      known: throwing(new FleetError('INVALID_PARAMS', 'status is wrong')),
      unknown: throwing(new Error('secret: /etc/hermes/token')),
    },
    onRefused: async (refused) => void refusals.push(refused),
  });
  const known = await served.rpc('known');
  assert.deepEqual([known.status, at(known.body, 'error', 'code')], [200, -32602]);
  const unknown = await served.rpc('unknown');
  assert.equal(at(unknown.body, 'error', 'code'), -32603);
  assert.doesNotMatch(unknown.text, /secret/);
  assert.deepEqual(refusals, []);
});

test('a custom method does not run without a token', async (t) => {
  const own = recording();
  const served = await serve(t, { methods: { decide: own } });
  assert.equal((await served.rpc('decide', {}, { token: null })).status, 401);
  assert.deepEqual(own.calls, []);
});
