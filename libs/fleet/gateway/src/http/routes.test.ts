import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcing, NOW, peerOf, prosePeer } from '@hermes-fleet/peers/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { dispatch, routes, SECRET, TOKENS } from '../../testing/fleet-routes.ts';
import { dispatching } from '../../testing/messages.ts';
import { CALLER, DONE } from '../../testing/scripts.ts';

test('all routes need a token with the scope read, and no other scope', async (t) => {
  const { ask } = await routes(t, {});
  for (const [method, path, payload] of [
    ['GET', '/fleet/peers', undefined],
    ['POST', '/fleet/route', dispatch()],
    ['GET', '/fleet/tasks/x/cost', undefined],
    ['GET', '/fleet/spending', undefined],
  ] as const) {
    assert.equal((await ask(method, path, payload, 'nobody-knows-this-token')).status, 401, path);
    const refused = await ask(method, path, payload, TOKENS.sender);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'FORBIDDEN'], path);
    assert.notEqual((await ask(method, path, payload, TOKENS.reader)).status, 403, path);
  }
});

test('GET /fleet/peers shows every peer and its state, and no token', async (t) => {
  const endpoint = { name: 'neo', url: 'http://neo:9220/jsonrpc', token: SECRET };
  const { ask } = await routes(t, {}, [
    announcing(
      'neo',
      { mcpHealth: { memory: 'timeout' }, session: { activeTasks: 2 } },
      {
        endpoint,
        circuitOpenUntil: NOW + 1_500,
        inFlight: 1,
        blockedRate: 0.25,
        latencyMs: 12.6,
        receivedAt: NOW - 4_200,
      },
    ),
    peerOf('old', { receivedAt: NOW - 90_001, standing: 'joined' }),
    peerOf('mute', { announce: undefined, receivedAt: undefined }),
    peerOf('stranger', { standing: 'known', endpoint: undefined }),
    prosePeer('stock'),
  ]);
  const { body, text } = await ask('GET', '/fleet/peers');
  assert.equal(body.profile, 'neo');
  const shown = body.peers.map((each: JsonObject) => [
    each.name,
    each.standing,
    each.state,
    each.live,
    each.age_s,
  ]);
  assert.deepEqual(shown, [
    ['neo', 'configured', 'live', true, 4.2],
    ['old', 'joined', 'stale', false, 90],
    ['mute', 'configured', 'silent', false, null],
    ['stranger', 'known', 'live', true, 0],
    ['stock', 'configured', 'prose', false, null],
  ]);
  const [neo, , mute, stranger, stock] = body.peers;
  assert.deepEqual(
    [neo.endpoint, neo.circuit, neo.circuit_open_for_s, neo.in_flight, neo.blocked_rate, neo.latency_ms],
    [endpoint.url, 'open', 1.5, 1, 0.25, 13],
  );
  assert.deepEqual(
    [
      neo.announce.model_tier,
      neo.announce.mcp_health,
      neo.announce.active_tasks,
      neo.announce.max_concurrent_tasks,
    ],
    ['sonnet', { memory: 'timeout' }, 2, 4],
  );
  assert.deepEqual([mute.announce, mute.card, stranger.endpoint, mute.circuit], [null, null, null, 'closed']);
  assert.deepEqual(stock.card, { handshake: false, versions: [], age_s: 0 });
  assert.ok(!text.includes(SECRET));
});

test("GET /fleet/tasks/:id/cost sums own and delegated tokens by source and model, for the task's caller only", async (t) => {
  const { ask, one } = await routes(t, {
    name: 'neo',
    script: async (_task, { budget }) => {
      for (const [inputTokens, outputTokens] of [
        [100, 20],
        [50, 5],
      ] as const) {
        const reservation = await budget.reserve({ inputTokens: 60, maxOutputTokens: 40 });
        await reservation.settle({ inputTokens, outputTokens, source: 'metered' });
      }
      await budget.addDelegated(1_000);
      return DONE;
    },
  });
  const id = await one.send(dispatching({ token_budget: 5_000 }));
  await one.result(id);
  const { status, body } = await ask('GET', `/fleet/tasks/${id}/cost`);
  assert.equal(status, 200);
  assert.equal(body.id, id);
  assert.equal(body.state, 'completed');
  assert.equal(body.tokens_spent, 1_175);
  assert.deepEqual(body.budget, { token_budget: 5_000, remaining: 3_825 });
  assert.deepEqual([body.own.input_tokens, body.own.output_tokens, body.delegated_tokens], [150, 25, 1_000]);
  assert.deepEqual(
    body.entries.map((each: JsonObject) => [
      each.kind,
      each.source,
      each.calls,
      each.input_tokens,
      each.output_tokens,
    ]),
    [
      ['own', 'metered', 2, 150, 25],
      ['delegated', 'reported', 1, 1_000, 0],
    ],
  );

  const unstated = await one.send(dispatching());
  await one.result(unstated);
  assert.deepEqual((await ask('GET', `/fleet/tasks/${unstated}/cost`)).body.budget.token_budget, 9_000);

  assert.equal(CALLER.name, 'operator');
  for (const [path, token] of [
    [`/fleet/tasks/${id}/cost`, TOKENS.reader],
    ['/fleet/tasks/ghost/cost', TOKENS.operator],
  ] as const) {
    const refused = await ask('GET', path, undefined, token);
    assert.deepEqual([refused.status, refused.body.error.code], [404, 'TASK_NOT_FOUND']);
  }
});
