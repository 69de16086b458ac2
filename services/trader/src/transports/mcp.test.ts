import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Client, connectMcp, ENVELOPE, statelessRequest } from '@hermes-fleet/mcp/testing';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { controlSchemas } from '@hermes-fleet/protocol/control';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import {
  at,
  codesOf,
  decision,
  GRID,
  type OpenTransports,
  openTransports,
  TREND,
  tokenOf,
} from '../../testing/transports/transports.ts';

const [, MODERN] = statelessRequest(1, 'tools/call');
const connect = (t: TestContext, { url }: OpenTransports, as = 'operator'): Promise<Client> =>
  connectMcp(t, url, { token: tokenOf(as) });

test('the official client lists three tools with strict schemas and annotations', async (t) => {
  const transports = await openTransports(t);
  const client = await connect(t, transports);
  assert.deepEqual(client.getServerVersion(), { name: 'trader', version: '0.1.0' });
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]),
    [
      ['apply_control_decision', false, true],
      ['list_strategies', true, false],
      ['get_strategy', true, false],
    ],
  );
  for (const { inputSchema, outputSchema, annotations } of tools) {
    assert.deepEqual([annotations?.idempotentHint, annotations?.openWorldHint], [true, false]);
    for (const schema of [inputSchema, outputSchema])
      assert.deepEqual([schema?.type, at(schema, 'additionalProperties')], ['object', false]);
  }
  const [decide] = tools;
  assert.deepEqual(decide?.inputSchema.required, controlSchemas()['control-decision'].required);
  assert.deepEqual(transports.audited(), []);
});

test('it calls all three, and their results match their output schemas', async (t) => {
  const transports = await openTransports(t);
  const client = await connect(t, transports);
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
  const decided = await call(
    'apply_control_decision',
    decision({ action: 'switch', target_strategy_id: TREND, expected_active_strategy_id: GRID }),
  );
  assert.deepEqual([at(decided, 'structuredContent', 'status'), decided.isError], ['applied', undefined]);
  assert.deepEqual(JSON.parse(String(at(decided, 'content', 0, 'text'))), decided.structuredContent);
  const rejected = await call('apply_control_decision', decision({ confidence: 2 }));
  assert.deepEqual(codesOf(rejected.structuredContent), ['invalid_payload']);
  assert.equal(rejected.isError, undefined);
  const listed = await call('list_strategies', { status: 'active' });
  assert.equal(at(listed, 'structuredContent', 'strategies', 0, 'id'), TREND);
  const all = await client.callTool({ name: 'list_strategies' });
  const strategies = at(all, 'structuredContent', 'strategies');
  assert.equal(Array.isArray(strategies) && strategies.length, 2);
  const one = await call('get_strategy', { strategy_id: TREND });
  assert.equal(at(one, 'structuredContent', 'control', 'active_strategy_id'), TREND);
  assert.equal(at(one, 'structuredContent', 'last_decisions', 0, 'status'), 'applied');
});

test('a failed read returns an error result, and is not an attempt', async (t) => {
  const transports = await openTransports(t);
  const client = await connect(t, transports);
  const failing: [name: string, args: Record<string, unknown>, words: RegExp][] = [
    ['get_strategy', { strategy_id: 'nope' }, /no such strategy/],
    ['get_strategy', { strategy_id: 1 }, /strategy_id/],
    ['get_strategy', {}, /strategy_id/],
    ['list_strategies', { state: 'active' }, /state/],
  ];
  for (const [name, args, words] of failing) {
    const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
    assert.deepEqual([isError, structuredContent], [true, undefined], name);
    assert.match(String(at(content, 0, 'text')), words);
  }
  const blind = await connect(t, transports, 'decider');
  const { isError, content } = await blind.callTool({ name: 'list_strategies', arguments: {} });
  assert.equal(isError, true);
  assert.match(String(at(content, 0, 'text')), /trader:read/);
  assert.deepEqual(transports.audited(), []);
});

test('a decision that failed is an error with its response', async (t) => {
  const transports = await openTransports(t, {
    runtime: {
      reconcile: async ({ activeStrategyId }) => {
        if (activeStrategyId === TREND) throw new FleetError('INTERNAL', 'it does not start');
        return { canceledOrders: 0 };
      },
    },
  });
  const client = await connect(t, transports);
  const result = await client.callTool({
    name: 'apply_control_decision',
    arguments: decision({ action: 'switch', target_strategy_id: TREND }),
  });
  assert.deepEqual([result.isError, at(result, 'structuredContent', 'status')], [true, 'failed']);
  assert.deepEqual(codesOf(result.structuredContent), ['activation_failed']);
});

test('on_behalf_of is recorded and grants nothing', async (t) => {
  const transports = await openTransports(t);
  const client = await connect(t, transports, 'decider');
  const auditedName = async (onBehalfOf: unknown) => {
    await client.callTool({
      name: 'apply_control_decision',
      arguments: decision({ override: true }),
      _meta: { on_behalf_of: onBehalfOf, task_id: 't' },
    });
    const [attempt] = transports.audited();
    assert.deepEqual(attempt?.codes, ['forbidden']);
    return attempt?.onBehalfOf;
  };
  assert.equal(await auditedName('operator'), 'operator');
  assert.equal(await auditedName('x'.repeat(10_000)), 'x'.repeat(200));
  for (const nobody of [undefined, '', 7, { a: 1 }]) assert.equal(await auditedName(nobody), undefined);
});

test('what is nested too deep beside the arguments is refused, and an attempt at a decision is audited as it arrived', async (t) => {
  const transports = await openTransports(t);
  const deep = '['.repeat(5_000) + ']'.repeat(5_000);
  const of = (tool: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":{}},"x":${deep}}`;
  const ping = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${deep}}`;
  const attempt = of('apply_control_decision');
  for (const body of [attempt, ping]) {
    const reply = await fetch(`${transports.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenOf('operator')}`, 'content-type': 'application/json' },
      body,
    });
    assert.equal(reply.status, 400);
    assert.match(await reply.text(), /"code":-32600,"message":"the body is nested deeper than 100 levels/);
  }
  const [audited] = transports.audited();
  assert.deepEqual([audited?.text, audited?.codes], [attempt, ['invalid_payload']]);
});

test('a decision is in the trace of its call, which its log line names', async (t) => {
  const log = recordingLog();
  const transports = await openTransports(t, { log });
  const client = await connect(t, transports);
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceOf = async (traceparent: unknown) => {
    await client.callTool({
      name: 'apply_control_decision',
      arguments: decision(),
      _meta: { traceparent },
    });
    return String(transports.audited()[0]?.traceparent).split('-')[1];
  };
  assert.equal(await traceOf(`00-${traceId}-b7ad6b7169203331-01`), traceId);
  assert.equal(((await log.saw(/^a decision was answered/)).fields as JsonObject).trace_id, traceId);
  for (const none of [undefined, '', 7, 'garbage', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`])
    assert.match((await traceOf(none)) ?? '', /^(?!0af7|0{32})[0-9a-f]{32}$/);
});

test('a decision that the SDK refuses is audited before it is answered', async (t) => {
  const transports = await openTransports(t);
  const payload = JSON.stringify(decision());
  const params = `{"name":"apply_control_decision","arguments":${payload}}`;
  const call = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":${params}}`;
  const modern = call.replace('"arguments"', `"_meta":${JSON.stringify(ENVELOPE)},"arguments"`);
  const nameless = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"arguments":${payload}}}`;
  const cases: [what: string, body: string, headers: Record<string, string>, status: number, text: string][] =
    [
      ['no Accept for streams', call, { accept: 'application/json' }, 406, payload],
      ['an MCP version that is none', call, { 'mcp-protocol-version': '1999-01-01' }, 400, payload],
      ['jsonrpc 1.0', call.replace('"2.0"', '"1.0"'), {}, 400, payload],
      ['an object as id', call.replace('"a"', '{}'), {}, 400, payload],
      ['no id', call.replace('"id":"a",', ''), {}, 202, payload],
      ['a tool that is none', call.replace('apply_control_decision', 'pause_strategy'), {}, 200, payload],
      ['no tool', nameless, {}, 200, payload],
      ['headers that name another tool', modern, { ...MODERN, 'mcp-name': 'get_strategy' }, 400, payload],
      ['no params', '{"jsonrpc":"2.0","id":"a","method":"tools/call"}', {}, 200, ''],
    ];
  for (const [what, body, headers, status, text] of cases) {
    const answer = await transports.post('/mcp', body, { headers });
    assert.equal(answer.status, status, what);
    if (status === 202) assert.deepEqual(answer.body, {}, what);
    else assert.equal(typeof at(answer.body, 'error', 'message'), 'string', what);
    const audited = transports.audited();
    assert.deepEqual(
      audited.map((attempt) => [attempt.text, attempt.transport, attempt.codes]),
      [[text === '' ? body : text, 'mcp', ['invalid_payload']]],
      what,
    );
  }
  const unknown = await transports.post('/mcp', call.replace('apply_control_decision', 'pause_strategy'));
  assert.deepEqual([unknown.body.id, at(unknown.body, 'error', 'code')], ['a', -32602]);
  assert.match(String(at(unknown.body, 'error', 'message')), /no tool "pause_strategy"; tools\/list/);
  const absent = await transports.post('/mcp', nameless);
  assert.equal(at(absent.body, 'error', 'code'), -32602);
  assert.match(String(at(absent.body, 'error', 'message')), /there is no tool ""/);
  assert.equal(transports.store.concern('qndd8o9ppop6:xrpusd')?.rev, 0);
});

test('a decision on /mcp outside a tool call is audited as received', async (t) => {
  const transports = await openTransports(t);
  const params = decision();
  const bodies: [body: string, as: string, status: number, code: string][] = [
    [
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'apply_control_decision', params }),
      'operator',
      200,
      '',
    ],
    [JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'pause_strategy', params }), 'operator', 200, ''],
    [JSON.stringify({ jsonrpc: '2.0', id: 1, method: 7, params }), 'operator', 400, ''],
    [JSON.stringify(params), 'operator', 400, ''],
    [JSON.stringify(params), 'guest', 403, 'forbidden'],
  ];
  for (const [body, as, status, code] of bodies) {
    const answer = await transports.post('/mcp', body, { as });
    assert.equal(answer.status, status, body);
    assert.equal(typeof at(answer.body, 'error', 'code'), 'number', body);
    assert.deepEqual(
      transports.audited().map((attempt) => [attempt.text, attempt.caller, attempt.codes]),
      [[body, as, [code || 'invalid_payload']]],
    );
  }
  const reply = await transports.post('/mcp', JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }));
  assert.equal(reply.status, 202);
  assert.deepEqual(transports.audited(), []);
});

test('other content types are 415, and other methods than POST are refused', async (t) => {
  const transports = await openTransports(t);
  const typed = await transports.post('/mcp', JSON.stringify(decision()), {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.deepEqual([typed.status, at(typed.body, 'error', 'code')], [415, -32600]);
  assert.deepEqual(
    transports.audited().map(({ text, codes, transport }) => [text, codes, transport]),
    [[null, ['invalid_payload'], 'mcp']],
  );
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const headers = { authorization: `Bearer ${tokenOf('operator')}`, accept: 'text/event-stream' };
    const { status, headers: answered } = await fetch(`${transports.url}/mcp`, { method, headers });
    assert.deepEqual([status, answered.get('allow')], [405, 'POST'], method);
  }
  const words = await transports.post('/mcp', '"tools/call"');
  assert.deepEqual([words.status, at(words.body, 'error', 'code')], [400, -32600]);
});

test('a caller without a trader scope is refused', async (t) => {
  const transports = await openTransports(t);
  await assert.rejects(connect(t, transports, 'guest'), {
    status: 403,
    message: /needs the scope trader:read or trader:decide/,
  });
  assert.deepEqual(transports.audited(), []);
});

test('messages other than tool calls are answered by the SDK and are not attempts', async (t) => {
  const transports = await openTransports(t);
  const ask = async (method: string) =>
    (await transports.post('/mcp', JSON.stringify({ jsonrpc: '2.0', id: 1, method }))).body;
  assert.deepEqual((await ask('ping')).result, {});
  assert.equal(at(await ask('resources/list'), 'error', 'code'), -32601);
  assert.deepEqual(transports.audited(), []);
});

test('a web page that has a token gets 403, which is audited with its caller', async (t) => {
  const transports = await openTransports(t);
  const send = (headers: Record<string, string>): Promise<number> =>
    fetch(`${transports.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'http://evil.example', ...headers },
      body: '{}',
    }).then(({ status }) => status);
  assert.equal(await send({ authorization: `Bearer ${tokenOf('operator')}` }), 403);
  assert.deepEqual(
    transports.audited().map(({ text, codes }) => [text, codes]),
    [[null, ['forbidden']]],
  );
  assert.equal(await send({ authorization: 'Bearer wrong' }), 403);
  assert.equal(await send({}), 403);
  assert.deepEqual(transports.audited(), []);
});

test('a caller without a token is told of the metadata, which names the scopes', async (t) => {
  const { url, audited } = await openTransports(t);
  const refused = await fetch(`${url}/mcp`, { method: 'POST', body: '{}' });
  assert.equal(refused.status, 401);
  const [, metadata = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const shown = JSON.parse(await (await fetch(metadata)).text());
  assert.deepEqual(
    [shown.resource, shown.scopes_supported],
    [`${url}/mcp`, ['trader:read', 'trader:decide']],
  );
  assert.deepEqual(audited(), []);
});
