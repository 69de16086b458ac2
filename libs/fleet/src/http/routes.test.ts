import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { announceOf, manualClock, NOW, peerOf } from '../testing/fakes.ts';
import { dispatching } from '../testing/messages.ts';
import { CALLER, DONE, type ProfileOptions, profile } from '../testing/profile.ts';
import { announcing, prosePeer } from '../testing/routing.ts';
import { registerFleetRoutes } from './routes.ts';

const TOKENS = {
  operator: 'token-of-the-operator',
  reader: 'token-of-a-reader',
  sender: 'token-of-a-sender',
};
const SECRET = 'a-secret-that-no-answer-holds';

interface Reply {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
  readonly body: any;
}
type Ask = (method: 'GET' | 'POST', path: string, payload?: unknown, token?: string) => Promise<Reply>;

/** The routes over a real gateway and ledger, and over these peers instead of its own where they are given. */
async function routes(t: TestContext, o: ProfileOptions, peers?: ReturnType<typeof peerOf>[]) {
  const one = await profile(t, o);
  const { gateway, ledger } = one;
  const app = createApp({
    name: one.name,
    version: '0',
    log: createLogger({ name: 'test', level: 'silent' }),
    metrics: createMetrics({ profile: one.name, peers: [], callers: [], defaultMetrics: false }),
    authenticate: createAuthenticator([
      { name: 'operator', scopes: ['announce', 'dispatch', 'read'], secret: TOKENS.operator },
      { name: 'reader', scopes: ['read'], secret: TOKENS.reader },
      { name: 'sender', scopes: ['dispatch', 'announce'], secret: TOKENS.sender },
    ]),
    readiness: () => ({ ready: true, dependencies: {} }),
  });
  registerFleetRoutes(app, {
    profile: one.name,
    gateway,
    ledger,
    clock: manualClock(),
    peers: peers ? { list: () => peers } : one.peers,
    defaultBudget: 9_000,
    countCache: false,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  const ask: Ask = async (method, path, payload, token = TOKENS.operator) => {
    const reply = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await reply.text();
    return { status: reply.status, text, body: JSON.parse(text) };
  };
  return { one, ask, tasks: () => ledger.list({ pageSize: 1 }).totalSize };
}

const dispatch = (rest: JsonObject = {}, task: JsonObject = {}): JsonObject => ({
  type: 'TASK_DISPATCH',
  protocol_version: '2.0',
  task: { task_id: 'asked', ...task },
  brief: 'do it',
  ...rest,
});

/** An orchestrator that has heard from two workers, one of them without the server `memory`. */
async function orchestrator(t: TestContext) {
  const setup = await routes(t, {
    name: 'switch',
    agents: { neo: 1, trinity: 2 },
    fleet: { orchestrate: true },
  });
  const { peers } = setup.one;
  await peers.record(announceOf('neo'), { name: 'neo' });
  const bare = announceOf('trinity', { capabilities: { mcpServers: [], tools: ['terminal'] } });
  await peers.record(bare, { name: 'trinity' });
  return setup;
}

test('all three need a token with the scope read, and only that', async (t) => {
  const { ask } = await routes(t, {});
  for (const [method, path, payload] of [
    ['GET', '/fleet/peers', undefined],
    ['POST', '/fleet/route', dispatch()],
    ['GET', '/fleet/tasks/x/cost', undefined],
  ] as const) {
    assert.equal((await ask(method, path, payload, 'nobody-knows-this-token')).status, 401, path);
    const refused = await ask(method, path, payload, TOKENS.sender);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'FORBIDDEN'], path);
    assert.notEqual((await ask(method, path, payload, TOKENS.reader)).status, 403, path);
  }
});

test('GET /fleet/peers shows every peer, how it is, and no token', async (t) => {
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

test('POST /fleet/route says where a dispatch would go and why, and records nothing', async (t) => {
  const { ask, one, tasks } = await orchestrator(t);
  const asked = dispatch({ requirements: { required_mcp: ['memory'] } });
  for (const body of [asked, { dispatch: asked }]) {
    const reply = await ask('POST', '/fleet/route', body, TOKENS.reader);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([reply.body.chosen, reply.body.unmet, reply.body.waitable], ['neo', [], false]);
    const [first, second] = reply.body.considered;
    assert.deepEqual(
      [first.peer, first.verdict, second.peer, second.verdict],
      ['neo', 'chosen', 'trinity', 'excluded'],
    );
    assert.ok(first.score > 0 && first.reasons.length > 0);
    assert.deepEqual(second.reasons, ['has no MCP server "memory"']);
  }
  assert.equal(tasks(), 0);
  assert.deepEqual(one.runs, []);
});

test('POST /fleet/route names what is unmet, and whether waiting can help', async (t) => {
  const { ask } = await orchestrator(t);
  const route = async (body: JsonObject) => (await ask('POST', '/fleet/route', body)).body;

  const nobody = await route(dispatch({ requirements: { required_mcp: ['nope'] } }));
  assert.deepEqual([nobody.chosen, nobody.waitable], [null, false]);
  assert.deepEqual(
    [nobody.unmet[0].kind, nobody.unmet[0].name, nobody.unmet[0].transient],
    ['mcp', 'nope', false],
  );

  const foreign = await route(
    dispatch({ protocol_version: '9.0', task: 'of a version that is not known here' }),
  );
  assert.deepEqual([foreign.chosen, foreign.considered, foreign.unmet[0].kind], [null, [], 'version']);

  const late = await route(dispatch({ deadline: '2020-01-01T00:00:00Z' }, { path: ['switch'] }));
  assert.deepEqual([late.chosen, late.waitable], [null, false]);
  assert.deepEqual(
    late.unmet.map((each: JsonObject) => each.kind),
    ['path', 'deadline'],
    'the profile itself would not take it, though a peer could',
  );
  assert.ok(late.considered.every((each: JsonObject) => each.verdict !== 'chosen'));
});

test('POST /fleet/route says of a dispatch that is not admitted what its result then says', async (t) => {
  const { ask, one } = await orchestrator(t);
  const past = '2020-01-01T00:00:00Z';
  const cases: [JsonObject, JsonObject][] = [
    [{ deadline: past }, {}],
    [{ deadline: past, requirements: { required_mcp: ['nope'] } }, {}],
    [{ deadline: past, routing: { target: 'ghost' } }, { path: ['switch'] }],
    [{ requirements: { required_mcp: ['nope'], required_capabilities: ['fly'] } }, {}],
    [{ routing: { target: 'trinity', on_blocked: 'fail' }, requirements: { required_mcp: ['memory'] } }, {}],
  ];
  for (const [rest, task] of cases) {
    const asked = dispatch(rest, { task_id: JSON.stringify([rest, task]), ...task });
    const { chosen, unmet, waitable } = (await ask('POST', '/fleet/route', asked)).body;
    assert.deepEqual([chosen, waitable], [null, false]);
    const sent = { data: [{ data: asked, mediaType: 'application/json' }] };
    const result = await one.result(await one.send(sent));
    assert.equal(result.status, 'blocked');
    assert.deepEqual(unmet, result.unmet, JSON.stringify(asked));
  }
});

test('POST /fleet/route on a profile that does its own work answers as its admission would', async (t) => {
  const { ask, one } = await routes(t, { name: 'neo', agents: { trinity: 2 } });
  const route = async (body: JsonObject) => (await ask('POST', '/fleet/route', body, TOKENS.reader)).body;
  const own = await route(dispatch());
  assert.deepEqual([own.chosen, own.considered[0].verdict], ['neo', 'chosen']);

  one.facts.clean = false;
  one.facts.mcp.memory = 'timeout';
  const blocked = await route(dispatch({ requirements: { required_mcp: ['memory'] } }));
  assert.deepEqual(
    [blocked.chosen, blocked.considered[0].verdict, blocked.waitable],
    [null, 'excluded', false],
    'a profile waits for peers, and not for itself',
  );
  assert.deepEqual(
    blocked.unmet.map((each: JsonObject) => each.kind),
    ['mcp', 'repo'],
  );
  assert.deepEqual((await route(dispatch({ routing: { target: 'trinity' } }))).unmet[0].kind, 'peer');
});

test('POST /fleet/route names every wrong field of a dispatch that is not valid', async (t) => {
  const { ask, tasks } = await orchestrator(t);
  const wrong = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: '', priority: 'soon', token_budget: -1 },
    brief: 7,
  };
  const { status, body } = await ask('POST', '/fleet/route', wrong);
  assert.equal(status, 400);
  assert.equal(body.error.code, 'INVALID_PARAMS');
  const paths = body.error.fields.map(({ path }: { path: string }) => path);
  assert.deepEqual(paths.sort(), ['brief', 'task.priority', 'task.task_id', 'task.token_budget']);
  for (const odd of [[], 'text', 7, null, {}])
    assert.equal((await ask('POST', '/fleet/route', odd)).status, 400, JSON.stringify(odd));
  assert.equal(tasks(), 0);
});

test('GET /fleet/tasks/:id/cost sums own and delegated tokens by source and model, for the own caller alone', async (t) => {
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
