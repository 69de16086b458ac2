import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { type Fleet, PROFILES, startFleet, until } from '../support/fleet.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { seenPeers, untilSeen } from '../support/peers-view.ts';
import { call, dispatch, message, type RpcReply, resultOf, runbook, type Target } from '../support/rpc.ts';

const TTL_S = 6;
const token = (of: string): string => `token-${of}-${randomUUID()}`;
const tokens = { tank: token('tank'), mouse: token('mouse'), dozer: token('dozer'), joined: token('joined') };

/** The shipped switch, and callers that may join it from this machine. */
function withJoining(profile: string, shipped: string): string {
  if (profile !== 'switch') return shipped;
  const callers = [
    'tank: { token_env: TANK, scopes: [join] }',
    'mouse: { token_env: MOUSE, scopes: [announce, join], speaks_for: ["mouse-*"] }',
    'dozer: { token_env: DOZER, scopes: [announce] }',
  ].map((line) => `      ${line}\n`);
  return shipped
    .replace('    callers:\n', `    callers:\n${callers.join('')}`)
    .replace('  join:\n', '  join:\n    token_env: JOINED\n');
}

/** A worker that no fleet.yaml lists, with an MCP server that nobody else has. */
function startTank(t: TestContext, fleet: Fleet): Promise<LoneProfile> {
  const { url } = fleet.target('switch');
  return startProfile(t, {
    name: 'tank',
    fleet: {
      role: 'worker',
      announce: { ttl_s: TTL_S },
      agents: { switch: { url, token_env: 'TANK_TO_SWITCH' } },
    },
    callers: { switch: { token_env: 'SWITCH_TO_JOINED', scopes: ['announce', 'dispatch', 'read'] } },
    config: {
      mcp: {
        servers: {
          vault: { command: 'fleet-mcp-memory' },
        },
      },
    },
    env: { TANK_TO_SWITCH: tokens.tank, SWITCH_TO_JOINED: tokens.joined },
  });
}

const forVault = (on_blocked: string, taskId: string) =>
  dispatch({
    taskId,
    brief: runbook('vault.txt', 'from the vault', 'cat vault.txt'),
    task: { token_budget: 20_000 },
    requirements: { required_mcp: ['vault'], required_capabilities: ['terminal', 'file'] },
    routing: { target: 'auto', on_blocked },
  });

async function announced(
  to: Target,
  agentId: string,
  endpoint: string,
  instanceId: string,
  servers: Record<string, string> = { vault: 'ok' },
): Promise<RpcReply> {
  const announce = {
    type: 'SESSION_ANNOUNCE',
    protocol_version: '2.0',
    protocol_versions: ['2.0'],
    endpoint,
    worker: { agent_id: agentId, model: 'm', model_tier: 'sonnet', context_window: 200_000 },
    capabilities: { tools: ['terminal', 'file', 'patch'], mcp_servers: Object.keys(servers) },
    mcp_health: servers,
    session: {
      context_id: 'handshake:hermes-switch',
      active_tasks: 0,
      session_fresh: true,
      repo_state: { branch: 'main', clean: true },
    },
    ready: true,
    seq: 1,
    instance_id: instanceId,
    ttl_s: 3_600,
  };
  return call(to, 'SendMessage', message(announce));
}

test('a worker that nobody configured joins a running fleet, works, and leaves by going silent', async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'trader'], {
    inProcess: true,
    fleetYaml: withJoining,
    secrets: {
      switch: { TANK: tokens.tank, MOUSE: tokens.mouse, DOZER: tokens.dozer, JOINED: tokens.joined },
    },
  });
  const operator = fleet.target('switch');
  const run = async (on_blocked: string, taskId: string = randomUUID()) => {
    const { body } = await call(operator, 'SendMessage', message(forVault(on_blocked, taskId)));
    return resultOf(body.result.task);
  };

  await t.test('before, nobody has what it takes, and that costs nothing', async () => {
    const result = await run('queue');
    assert.deepEqual([result.status, result.tokens_spent], ['blocked', 0]);
    assert.deepEqual([result.unmet[0].kind, result.unmet[0].name], ['mcp', 'vault']);
  });

  const tank = await startTank(t, fleet);
  await untilSeen(
    operator,
    'tank',
    ({ standing, state }) => standing === 'joined' && state === 'live',
    'as joined',
  );

  await t.test('it is routed to like any other, without a restart of anybody', async () => {
    const [seen] = (await seenPeers(operator)).filter(({ name }) => name === 'tank');
    assert.equal(seen?.endpoint, `${tank.url}/jsonrpc`);
    const result = await run('reroute', 'by-tank');
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(result.executed_by, 'tank');
    assert.deepEqual(result.artifacts.files_changed, ['vault.txt']);
    await until(() => fleet.log('switch').includes('a worker has joined'), 'the line of switch');
  });

  await t.test('who says that he is somebody or somewhere else is answered, and not believed', async (tt) => {
    const asked: string[] = [];
    const trap = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end();
    }).listen(0, '127.0.0.1');
    tt.after(() => trap.close());
    await once(trap, 'listening');
    const address = trap.address();
    const port = typeof address === 'object' && address ? address.port : assert.fail();
    const here = `http://127.0.0.1:${port}/jsonrpc`;
    const as = (name: 'mouse' | 'dozer'): Target => fleet.target('switch', tokens[name]);
    const later = 'ffffffff-ffff-7fff-bfff-ffffffffffff';
    const lies: [from: 'mouse' | 'dozer', agent: string, endpoint: string][] = [
      ['mouse', 'tank', here],
      ['mouse', 'neo', here],
      ['mouse', 'switch', here],
      ['mouse', 'dozer', here],
      ['mouse', 'mouse', `http://localhost:${port}/jsonrpc`],
      ['mouse', 'mouse', `https://127.0.0.1:${port}/jsonrpc`],
      ['mouse', 'mouse', `http://127.0.0.1:1@127.0.0.1:${port}/jsonrpc`],
      ['mouse', 'mouse', `${here}?x`],
      ['mouse', 'mouse', `http://127.0.0.1:${port}/elsewhere`],
      ['mouse', 'mouse-1', `${tank.url}/jsonrpc`],
      ['mouse', 'mouse-1', `${fleet.target('neo').url}/jsonrpc`],
      ['mouse', 'mouse-1', `${operator.url}/jsonrpc`],
      ['dozer', 'mouse-1', here],
      ['dozer', 'dozer', here],
    ];
    const refusedBefore = await refusals(fleet);
    for (const [from, agent, endpoint] of lies) {
      const { status, body } = await announced(as(from), agent, endpoint, later);
      assert.equal(status, 200, `${from} as ${agent} at ${endpoint}`);
      const [part] = body.result.message.parts.filter((one: { data?: unknown }) => one.data);
      assert.equal(part.data.worker.agent_id, 'switch', JSON.stringify(body));
      const refused = body.result.message.parts.find(
        (one: { data?: { accepted?: boolean } }) => one.data?.accepted === false,
      );
      assert.equal(
        typeof refused?.data.reason,
        agent === 'dozer' && from === 'dozer' ? 'undefined' : 'string',
        agent,
      );
    }
    const peers = await seenPeers(operator);
    assert.deepEqual(
      peers.map(({ name, standing, endpoint }) => [name, standing, endpoint === null]),
      [
        ['dozer', 'known', true],
        ['morpheus', 'configured', false],
        ['neo', 'configured', false],
        ['tank', 'joined', false],
        ['trader', 'configured', false],
        ['trinity', 'configured', false],
      ],
    );
    assert.equal((await refusals(fleet)) - refusedBefore, lies.length - 1);
    assert.match(fleet.log('switch'), /announce not believed/);
    for (const target of ['dozer', 'mouse', 'mouse-1']) {
      const sent = dispatch({ brief: 'x', task: { write: false }, routing: { target, on_blocked: 'fail' } });
      const { body } = await call(operator, 'SendMessage', message(sent));
      assert.equal(resultOf(body.result.task).status, 'blocked', target);
    }
    assert.equal((await run('reroute')).executed_by, 'tank');
    assert.deepEqual(asked, [], 'nobody is sent to an address that was not allowed');
  });

  await t.test(
    'another worker may join with the same right, in a name that its caller may give',
    async () => {
      const mouse = fleet.target('switch', tokens.mouse);
      const first = '019e7fb2-6a00-7000-8000-000000000001';
      const { body } = await announced(mouse, 'mouse-2', 'http://127.0.0.1:9/jsonrpc', first, {});
      assert.ok(body.result.message);
      const [seen] = (await seenPeers(operator)).filter(({ name }) => name === 'mouse-2');
      assert.equal(seen?.standing, 'joined');
    },
  );

  await t.test('killed, it is stale soon, and its work is blocked', async () => {
    await tank.kill();
    await untilSeen(operator, 'tank', ({ state }) => state === 'stale', 'as stale', 30_000);
    const result = await run('fail');
    assert.equal(result.status, 'blocked', JSON.stringify(result));
    assert.equal(result.tokens_spent, 0);
  });

  await t.test('what is meant for it alone waits, until it is back', async () => {
    const patient = { ...forVault('queue', 'patient'), routing: { target: 'tank', on_blocked: 'queue' } };
    const waiting = call(operator, 'SendMessage', message(patient));
    await tank.start();
    const { body } = await waiting;
    const result = resultOf(body.result.task);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(result.executed_by, 'tank');
  });

  await t.test('its token is never told to anybody', () => {
    for (const secret of Object.values(tokens))
      assert.ok(![fleet.log('switch'), tank.log()].some((log) => log.includes(secret)));
  });
});

/** Announces that switch did not believe. */
async function refusals(fleet: Fleet): Promise<number> {
  const text = await fleet.metrics('switch');
  const counted = text.matchAll(/^fleet_handshake_announces_total\{([^}]*)\} (\S+)$/gm);
  return [...counted]
    .filter(([, labels = '']) => labels.includes('direction="in"') && labels.includes('result="error"'))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}
