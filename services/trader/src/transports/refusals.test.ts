import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { at, decision, openTransports, tokenOf } from '../../testing/transports/transports.ts';
import { codeOf } from './refusals.ts';

test('requests that /jsonrpc refuses are audited unless they cannot be decisions', async (t) => {
  const transports = await openTransports(t);
  const call = (method: string, params: unknown = {}, more: object = {}): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params, ...more });
  const payload = decision();
  const cases: [body: string, as: string, transport: string | undefined, code: string, headers?: object][] = [
    [call('pause_strategy', payload), 'operator', 'jsonrpc', 'unsupported_action'],
    [call('apply_control_decision', payload, { jsonrpc: '1.0' }), 'operator', 'jsonrpc', 'invalid_payload'],
    [call('SendMessage', { message: payload }), 'operator', 'a2a', 'invalid_payload'],
    [call('SendStreamingMessage', {}), 'operator', 'a2a', 'invalid_payload'],
    [call('SendMessage', {}), 'reader', 'a2a', 'forbidden'],
    [call('message/send', {}), 'reader', 'a2a', 'forbidden'],
    [call('SendMessage', {}), 'operator', 'a2a', 'invalid_payload', { 'a2a-version': '7.0' }],
    [call('GetTask', {}), 'reader', undefined, ''],
    [call('GetTask', {}), 'operator', undefined, ''],
    [call('tasks/cancel', {}), 'reader', undefined, ''],
    [call('get_strategy', {}, { jsonrpc: '1.0' }), 'operator', undefined, ''],
    [call('get_strategy', {}), 'operator', undefined, ''],
    [call('list_strategies', {}), 'decider', undefined, ''],
  ];
  for (const [body, as, transport, code, headers] of cases) {
    const answer = await transports.post('/jsonrpc', body, { as, headers: { ...headers } });
    assert.equal(typeof at(answer.body, 'error', 'code'), 'number', body);
    const expected = transport === undefined ? [] : [[transport, as, body, [code]]];
    assert.deepEqual(
      transports.audited().map((attempt) => [attempt.transport, attempt.caller, attempt.text, attempt.codes]),
      expected,
      body,
    );
  }
});

test('a decision whose sender disconnects is audited', async (t) => {
  const transports = await openTransports(t);
  for (const path of ['/jsonrpc', '/mcp']) {
    const heard = Promise.withResolvers<void>();
    using _listener = transports.store.onHead(() => heard.resolve());
    const { hostname, port } = new URL(transports.url);
    const socket = connect(Number(port), hostname, () => {
      const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`;
      const rest = `authorization: Bearer ${tokenOf('operator')}\r\ncontent-length: 500\r\n\r\n{"jsonrpc":`;
      socket.write(head + rest, () => socket.destroy());
    });
    await heard.promise;
    assert.deepEqual(
      transports.audited().map(({ text, codes }) => [text, codes]),
      [[null, ['invalid_payload']]],
    );
  }
});

test('the reads are JSON-RPC methods, with or without params', async (t) => {
  const transports = await openTransports(t);
  const call = async (method: string, params: string): Promise<unknown> => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}"${params}}`;
    return (await transports.post('/jsonrpc', body, { as: 'reader' })).body;
  };
  for (const params of ['', ',"params":{}']) {
    const strategies = at(await call('list_strategies', params), 'result', 'strategies');
    assert.equal(Array.isArray(strategies) && strategies.length, 2);
  }
  const id = at(
    await call('list_strategies', ',"params":{"status":"active"}'),
    'result',
    'strategies',
    0,
    'id',
  );
  const one = await call('get_strategy', `,"params":{"strategy_id":"${id}"}`);
  assert.equal(at(one, 'result', 'control', 'active_strategy_id'), id);
  assert.equal(at(await call('list_strategies', ',"params":{"states":"x"}'), 'error', 'code'), -32602);
});

test('an unknown strategy is an invalid parameter in JSON-RPC and in MCP', async (t) => {
  const transports = await openTransports(t);
  const call = (method: string, params: object): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const rpc = await transports.post('/jsonrpc', call('get_strategy', { strategy_id: 'nope' }), {
    as: 'reader',
  });
  const message = at(rpc.body, 'error', 'message');
  assert.equal(at(rpc.body, 'error', 'code'), -32602);
  assert.match(String(message), /no such strategy/);
  assert.equal(at(rpc.body, 'error', 'data', 1, 'fieldViolations', 0, 'field'), 'strategy_id');
  const asked = { name: 'get_strategy', arguments: { strategy_id: 'nope' } };
  const mcp = await transports.post('/mcp', call('tools/call', asked), { as: 'reader' });
  assert.equal(at(mcp.body, 'result', 'isError'), true);
  assert.equal(at(mcp.body, 'result', 'content', 0, 'text'), message);
});

test('the audit names the error that stopped a decision', () => {
  const codes = (['REQUEST_TIMEOUT', 'SHUTTING_DOWN', 'QUEUE_FULL', 'CANCELED', 'INTERNAL'] as const).map(
    (code) => codeOf(new FleetError(code, 'x')),
  );
  assert.deepEqual(codes, [
    ...['invalid_payload', 'store_unavailable', 'rate_limited', 'invalid_payload', 'internal_error'],
  ]);
});

test('a decision as a notification is applied and audited, and not answered', async (t) => {
  const transports = await openTransports(t);
  const params = decision();
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'apply_control_decision', params });
  const answer = await transports.post('/jsonrpc', body);
  assert.deepEqual([answer.status, answer.body], [204, {}]);
  assert.deepEqual(
    transports.audited().map(({ status, text }) => [status, text]),
    [['applied', JSON.stringify(params)]],
  );
});
