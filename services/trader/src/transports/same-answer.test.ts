import assert from 'node:assert/strict';
import { test } from 'node:test';
import { malformedPayloads } from '../../testing/control/malformed.ts';
import { sendThrough, statusOf, TRANSPORTS } from '../../testing/transports/through.ts';
import {
  at,
  codesOf,
  decision,
  errorsOf,
  GRID,
  openTransports,
  TREND,
} from '../../testing/transports/transports.ts';

test('malformed payloads are rejected alike on every transport, never coerced, and audited as received', async (t) => {
  const transports = await openTransports(t);
  const malformed = malformedPayloads(decision({ decision_id: 'dec-1' }));
  for (const [what, payload, code, field, mentions = ''] of [
    ...malformed,
    ['nothing at all', undefined, 'invalid_payload'] as const,
  ]) {
    const responses: unknown[] = [];
    for (const transport of TRANSPORTS) {
      const name = `${what} by ${transport.name}`;
      const { status, response } = await sendThrough(transports, transport, payload);
      assert.equal(status, 200, name);
      assert.equal(statusOf(response), 'rejected', name);
      const isTold = errorsOf(response).some(
        (error) => error.code === code && error.field === field && String(error.message).includes(mentions),
      );
      assert.ok(isTold, `${name}: ${JSON.stringify(response)}`);
      assert.equal(at(response, 'validation', 'schema_valid'), false, name);
      const [attempt, ...more] = transports.audited();
      assert.deepEqual(more, [], name);
      assert.equal(attempt?.text, payload ?? '', name);
      assert.deepEqual(
        [attempt?.transport, attempt?.caller, attempt?.status],
        [transport.transport, 'operator', 'rejected'],
      );
      responses.push(response);
    }
    for (const response of responses) assert.deepEqual(response, responses[0], what);
  }
  const concern = transports.store.concern('qndd8o9ppop6:xrpusd');
  assert.deepEqual([concern?.rev, concern?.runState, concern?.activeStrategyId], [0, 'running', GRID]);
});

test('well-formed payloads are decided alike on every transport and audited as received', async (t) => {
  for (const transport of TRANSPORTS) {
    const transports = await openTransports(t);
    const payload = JSON.stringify(
      decision({
        decision_id: 'dec-1',
        action: 'switch',
        target_strategy_id: TREND,
        expected_active_strategy_id: GRID,
        reason: '\u00fcber',
      }),
      null,
      1,
    );
    const first = await sendThrough(transports, transport, payload);
    assert.equal(statusOf(first.response), 'applied', transport.name);
    assert.deepEqual(
      [at(first.response, 'from_strategy_id'), at(first.response, 'to_strategy_id')],
      [GRID, TREND],
    );
    assert.equal(at(first.response, 'result', 'canceled_orders'), 2);
    const [attempt] = transports.audited();
    assert.deepEqual([attempt?.text, attempt?.transport], [payload, transport.transport]);
    assert.match(attempt?.traceparent ?? '', /^00-[0-9a-f]{32}-/);
    for (const other of TRANSPORTS) {
      const copy = await sendThrough(transports, other, payload);
      assert.equal(statusOf(copy.response), 'noop', `${transport.name}, then ${other.name}`);
      assert.equal(at(copy.response, 'warnings', 0, 'code'), 'duplicate_decision');
      assert.equal(at(copy.response, 'applied_at'), at(first.response, 'applied_at'));
    }
    assert.equal(transports.audited().length, TRANSPORTS.length);
  }
});

test('a hundred concurrent copies on all transports are one applied and 99 noop', async (t) => {
  const transports = await openTransports(t);
  const payload = JSON.stringify(decision());
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      sendThrough(transports, TRANSPORTS[index % TRANSPORTS.length] ?? assert.fail(), payload),
    ),
  );
  const statuses = answers.map(({ response }) => statusOf(response));
  assert.equal(statuses.filter((status) => status === 'applied').length, 1);
  assert.equal(statuses.filter((status) => status === 'noop').length, 99);
  const audited = transports.audited();
  assert.equal(audited.length, 100);
  assert.ok(audited.every(({ text }) => text === payload));
});

test('a reason of 1 MB is 413 on every transport, and audited without its text', async (t) => {
  const transports = await openTransports(t);
  const payload = JSON.stringify(decision({ reason: 'x'.repeat(1_000_000) }));
  for (const transport of TRANSPORTS) {
    const { status, body, response } = await sendThrough(transports, transport, payload);
    assert.deepEqual([status, at(body, 'error', 'code'), response], [413, -32600, undefined], transport.name);
    const [attempt, ...more] = transports.audited();
    assert.deepEqual(more, []);
    // The unread body would tell A2A from JSON-RPC; /mcp has its own path.
    assert.equal(attempt?.transport, transport.transport === 'mcp' ? 'mcp' : 'jsonrpc');
    assert.deepEqual(
      [attempt?.text, attempt?.status, attempt?.codes],
      [null, 'rejected', ['payload_too_large']],
    );
  }
});

test('truncated JSON is -32700 on every transport, and audited as received', async (t) => {
  const transports = await openTransports(t);
  for (const transport of TRANSPORTS) {
    const body = transport.around(JSON.stringify(decision())).slice(0, -5);
    const answer = await transports.post(transport.path, body);
    assert.equal(at(answer.body, 'error', 'code'), -32700, transport.name);
    const [attempt, ...more] = transports.audited();
    assert.deepEqual(more, []);
    assert.deepEqual([attempt?.text, attempt?.codes], [body, ['invalid_payload']], transport.name);
  }
});

test('invalid UTF-8 is -32700 on every transport, and decides nothing', async (t) => {
  const transports = await openTransports(t);
  for (const transport of TRANSPORTS) {
    const [before = '', after = ''] = transport
      .around(JSON.stringify(decision({ reason: '<>' })))
      .split('<>');
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]]) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
      const answer = await transports.post(transport.path, body);
      assert.equal(at(answer.body, 'error', 'code'), -32700, transport.name);
      assert.deepEqual(
        transports.audited().map(({ text, codes }) => [text, codes]),
        [[null, ['invalid_payload']]],
        transport.name,
      );
    }
  }
});

test('JSON-RPC batches are -32600 on every transport, and audited as received', async (t) => {
  const transports = await openTransports(t);
  for (const transport of TRANSPORTS) {
    const body = `[${transport.around(JSON.stringify(decision()))}]`;
    const answer = await transports.post(transport.path, body);
    assert.equal(at(answer.body, 'error', 'code'), -32600, transport.name);
    assert.deepEqual(
      transports.audited().map(({ text, codes }) => [text, codes]),
      [[body, ['invalid_payload']]],
    );
  }
});

test('two payloads in one request are refused on every transport, and audited whole', async (t) => {
  const transports = await openTransports(t);
  const [first, second] = [JSON.stringify(decision()), JSON.stringify(decision())];
  const twice: Readonly<Record<string, string>> = { jsonrpc: 'params', mcp: 'arguments', a2a: 'payload' };
  for (const transport of TRANSPORTS) {
    const body = transport.around(`${first},"${twice[transport.transport]}":${second}`);
    const answer = await transports.post(transport.path, body);
    assert.equal(typeof at(answer.body, 'error', 'message'), 'string', transport.name);
    const [attempt, ...more] = transports.audited();
    assert.deepEqual(more, []);
    assert.deepEqual(
      [attempt?.transport, attempt?.codes],
      [transport.transport, ['invalid_payload']],
      transport.name,
    );
    assert.ok(attempt?.text?.includes(first) && attempt.text.includes(second), transport.name);
  }
});

test('requests without a token are refused and not audited', async (t) => {
  const transports = await openTransports(t);
  for (const transport of TRANSPORTS) {
    const { status, headers, body } = await sendThrough(transports, transport, JSON.stringify(decision()), {
      as: null,
    });
    // MCP clients are told where to read how to get in (RFC 9728).
    const resource = ' resource_metadata="http://127.0.0.1:<port>/.well-known/oauth-protected-resource/mcp"';
    const asked = headers.get('www-authenticate')?.replace(/:\d+\//, ':<port>/');
    const wanted = `Bearer${transport.name === 'MCP' ? resource : ''}`;
    assert.deepEqual([status, asked], [401, wanted], transport.name);
    assert.equal(at(body, 'error', 'code'), -32000, transport.name);
    const large = await sendThrough(transports, transport, JSON.stringify('x'.repeat(20_000)), { as: null });
    assert.equal(large.status, 401, transport.name);
  }
  assert.deepEqual(transports.audited(), []);
});

test('without the scope a decision is forbidden on every transport, and audited', async (t) => {
  const transports = await openTransports(t);
  const payload = JSON.stringify(decision());
  for (const transport of TRANSPORTS)
    for (const as of ['reader', 'guest']) {
      const { status, body, response } = await sendThrough(transports, transport, payload, { as });
      const name = `${transport.name} as ${as}`;
      // MCP returns tool results with status 200.
      assert.equal(status, transport.name === 'MCP' && as === 'reader' ? 200 : 403, name);
      if (response === undefined) assert.equal(at(body, 'error', 'code'), -32000, name);
      else assert.deepEqual(codesOf(response), ['forbidden'], name);
      const [attempt, ...more] = transports.audited();
      assert.deepEqual(more, [], name);
      assert.deepEqual([attempt?.caller, attempt?.codes], [as, ['forbidden']], name);
      assert.ok(attempt?.text?.includes(payload), name);
      assert.equal(attempt?.transport, transport.transport, name);
    }
});

test('an override needs its own scope on every transport', async (t) => {
  const transports = await openTransports(t);
  for (const transport of TRANSPORTS) {
    const payload = JSON.stringify(decision({ override: true }));
    const { response } = await sendThrough(transports, transport, payload, { as: 'decider' });
    assert.deepEqual([statusOf(response), codesOf(response)], ['rejected', ['forbidden']], transport.name);
  }
});

test('above the rate every transport returns the retry time', async (t) => {
  const transports = await openTransports(t, { limits: { perSecond: 0.01, burst: 2, keptForPause: 1 } });
  const risk = () => JSON.stringify(decision({ action: 'set_risk_mode', risk_mode: 'normal' }));
  for (const transport of TRANSPORTS) {
    await sendThrough(transports, transport, risk());
    const { status, headers, body, response } = await sendThrough(transports, transport, risk());
    assert.deepEqual(codesOf(response), ['rate_limited'], transport.name);
    assert.equal(status, transport.transport === 'jsonrpc' ? 429 : 200, transport.name);
    if (transport.transport === 'jsonrpc') assert.ok(Number(headers.get('retry-after')) >= 1);
    if (transport.name === 'A2A') {
      const result = at(body, 'result', 'task', 'artifacts', 0, 'parts', 0, 'data');
      assert.match(String(at(result, 'next_steps', 0)), /^send it again in \d+ s$/);
      assert.equal(at(result, 'unmet', 0, 'transient'), true);
    }
  }
});
