import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { AgentCard, buildAgentCard } from '@hermes-fleet/a2a';
import { EXTENSIONS } from '@hermes-fleet/gateway/member';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { freeOffset } from '../../../test/support/ports.ts';
import { call, dispatch, post, type Target } from '../../../test/support/rpc.ts';
import { TOKENS, type TraderProcess, traderHome } from '../testing/trader-process.ts';

const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
const TREND = '0c555fee-e4c8-4543-ae70-c132517017e1';
const LISTENING = 'Server listening at';

/** Free ports for the trader and switch. */
async function ports(): Promise<{ trader: number; switch: number }> {
  const offset = await freeOffset();
  return { trader: 9220 + offset, switch: 9219 + offset };
}

const operatorAt = (port: number): Target => ({
  url: `http://127.0.0.1:${port}`,
  token: TOKENS.A2A_HERMES_TOKEN_OPERATOR,
});

async function stop(process: TraderProcess): Promise<void> {
  process.signal('SIGTERM');
  const { code, stderr } = await process.ended;
  assert.deepEqual([code, stderr], [0, '']);
}

/** The example decision of docs/trader.md with the current time. */
const example = (id: string): JsonObject => ({
  decision_id: id,
  concern_id: 'qndd8o9ppop6:xrpusd',
  account_id: 'qndd8o9ppop6',
  market_symbol: 'xrpusd',
  action: 'switch',
  target_strategy_id: TREND,
  expected_active_strategy_id: GRID,
  risk_mode: 'normal',
  reason: 'trend strategy still fits the directional narrative',
  confidence: 0.83,
  dry_run: false,
  override: false,
  requested_at: new Date().toISOString(),
});

test('it serves the routes of every member, applies a decision and stops in order', async (t) => {
  const at = await ports();
  const home = traderHome(t, { port: at.trader });
  const trader = home.run();
  await trader.says(LISTENING);
  await trader.says('the audit is intact');
  const operator = operatorAt(at.trader);
  const get = async (path: string) => {
    const reply = await fetch(`${operator.url}${path}`);
    return { status: reply.status, text: await reply.text() };
  };

  const health = JSON.parse((await get('/health')).text);
  assert.deepEqual([health.status, health.name], ['ok', 'trader']);
  const ready = await get('/ready');
  const ok = { state: 'ok' };
  assert.deepEqual(
    [ready.status, JSON.parse(ready.text)],
    [
      200,
      {
        status: 'ready',
        ready: true,
        dependencies: { ledger: ok, control_store: ok, audit: ok, 'concern:qndd8o9ppop6:xrpusd': ok },
      },
    ],
  );
  const card = JSON.parse((await get('/.well-known/agent-card.json')).text);
  assert.deepEqual([card.name, card.supportedInterfaces[0].url], ['trader', `${operator.url}/jsonrpc`]);

  const { status, body } = await call(operator, 'apply_control_decision', example('dec_2026_04_16_001'));
  assert.equal(status, 200);
  assert.deepEqual(
    [body.result.status, body.result.from_strategy_id, body.result.to_strategy_id, body.result.errors],
    ['applied', GRID, TREND, []],
  );
  const metrics = (await get('/metrics')).text;
  assert.match(metrics, /^fleet_trader_decisions_total\{action="switch",status="applied"\} 1$/m);
  assert.match(metrics, /^fleet_trader_audit_ok 1$/m);
  assert.match(metrics, /^fleet_trader_equity\{concern="qndd8o9ppop6:xrpusd"\} 10000$/m);

  const wide = await post(operator, JSON.stringify({ text: 'x'.repeat(16_384) }));
  assert.equal(wide.status, 413);
  const nobody = await post({ ...operator, token: undefined }, '{}');
  assert.equal(nobody.status, 401);
  const peers = await fetch(`${operator.url}/fleet/peers`, {
    headers: { authorization: `Bearer ${operator.token}` },
  });
  assert.deepEqual(
    JSON.parse(await peers.text()).peers.map(({ name }: { name: string }) => name),
    ['switch'],
  );

  await stop(trader);

  const again = home.run();
  await again.says(LISTENING);
  const { result } = (await call(operator, 'list_strategies', { status: 'active' })).body;
  assert.deepEqual(
    result.strategies.map(({ id }: { id: string }) => id),
    [TREND],
    'what was decided outlives a restart',
  );
  await stop(again);
});

const toJson = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value));

test('tasks are blocked at no cost; a control decision in a message becomes a task with the response', async (t) => {
  const at = await ports();
  const trader = traderHome(t, { port: at.trader }).run();
  await trader.says(LISTENING);
  const operator = operatorAt(at.trader);
  const send = async (part: JsonObject): Promise<JsonObject> => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [part] };
    const { body } = await call(operator, 'SendMessage', { message });
    return body.result.task;
  };
  const resultIn = (task: JsonObject): JsonObject => {
    const artifacts = Array.isArray(task.artifacts) ? task.artifacts : [];
    const parts = artifacts.flatMap((artifact) =>
      isJsonObject(artifact) && Array.isArray(artifact.parts) ? artifact.parts : [],
    );
    const found = parts
      .flatMap((part) => (isJsonObject(part) && isJsonObject(part.data) ? [part.data] : []))
      .find(({ type }) => type === 'TASK_RESULT');
    return found ?? assert.fail(JSON.stringify(task));
  };
  const parts: readonly JsonObject[] = [
    { data: toJson(dispatch({ brief: 'buy low, sell high', routing: { target: 'neo' } })) },
    { text: 'buy low, sell high' },
  ];
  for (const part of parts) {
    const { status, tokens_spent, unmet } = resultIn(await send(part));
    assert.deepEqual([status, tokens_spent], ['blocked', 0]);
    assert.match(
      JSON.stringify(unmet),
      /"kind":"capability".*trader takes no tasks: send a CONTROL_DECISION/,
    );
  }
  const decided = await send({ data: { type: 'CONTROL_DECISION', payload: example('by-message') } });
  assert.equal(resultIn(decided).status, 'done');
  assert.match(JSON.stringify(decided), /"to_strategy_id":"0c555fee/);
  await stop(trader);
});

/** A peer with a card that accepts every message; `first` resolves with the first announce. */
async function listeningPeer(t: TestContext, port: number) {
  const first = Promise.withResolvers<{ announce: string; authorization: string | undefined }>();
  const card = buildAgentCard({
    identity: '# switch\n',
    url: `http://127.0.0.1:${port}/jsonrpc`,
    version: '0',
    extensions: EXTENSIONS,
    streaming: true,
    authRequired: true,
  });
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (body.includes('SESSION_ANNOUNCE'))
      first.resolve({ announce: body, authorization: request.headers.authorization });
    response.setHeader('content-type', 'application/json');
    response.end(request.method === 'GET' ? JSON.stringify(AgentCard.toJSON(card)) : '{}');
  });
  server.listen(port, '127.0.0.1');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return first.promise;
}

test('it announces itself as a trader without a model, and answers announces', async (t) => {
  const at = await ports();
  const heard = listeningPeer(t, at.switch);
  const trader = traderHome(t, { port: at.trader, env: { SWITCH_PORT: String(at.switch) } }).run();
  const { announce, authorization } = await heard;
  assert.equal(authorization, `Bearer ${TOKENS.A2A_HERMES_TOKEN_TRADER_TO_SWITCH}`);
  const announced = JSON.parse(announce).params.message.parts[0].data;
  assert.deepEqual(
    [announced.worker, announced.role, announced.ready],
    [{ agent_id: 'trader', model: 'none', model_tier: 'none', context_window: 0 }, 'trader', true],
  );
  assert.deepEqual(announced.capabilities.tools, [
    ...['apply_control_decision', 'list_strategies', 'get_strategy'],
  ]);
  assert.equal(announced.endpoint, `http://127.0.0.1:${at.trader}/jsonrpc`);

  const message = { messageId: 'hello', role: 'ROLE_USER', parts: [{ data: announced }] };
  const reply = await call(operatorAt(at.trader), 'SendMessage', { message });
  assert.match(JSON.stringify(reply.body), /"type":"SESSION_ANNOUNCE".*"agent_id":"trader"/);
  await stop(trader);
});

test('a second process and a process whose port is taken exit at once with the reason', async (t) => {
  const at = await ports();
  const home = traderHome(t, { port: at.trader });
  const first = home.run();
  await first.says(LISTENING);
  const second = await home.run().ended;
  assert.equal(second.code, 1);
  assert.match(second.stderr, /trader is already served by another gateway process/);
  const taken = await traderHome(t, { port: at.trader }).run().ended;
  assert.equal(taken.code, 1);
  assert.match(
    taken.stderr,
    new RegExp(`trader cannot listen on 127\\.0\\.0\\.1:${at.trader}: another process`),
  );
  assert.equal((await fetch(`${operatorAt(at.trader).url}/ready`)).status, 200, 'the first one goes on');
  await stop(first);
});

test('with a tampered record it serves and reports the damage everywhere', async (t) => {
  const at = await ports();
  const home = traderHome(t, { port: at.trader });
  const operator = operatorAt(at.trader);
  const before = home.run();
  await before.says(LISTENING);
  await call(operator, 'apply_control_decision', example('first'));
  await stop(before);
  const db = new DatabaseSync(join(home.stateDir, 'control.db'));
  const found = db.prepare(`SELECT seq FROM audit WHERE instr(record, '0.83')`).get();
  const seq = Number(found?.seq);
  db.exec(
    `DROP TRIGGER audit_is_final; UPDATE audit SET record = replace(record, '0.83', '0.84') WHERE seq = ${seq}`,
  );
  db.close();

  const trader = home.run();
  const line = JSON.parse(await trader.says('the audit is broken'));
  assert.deepEqual([line.level, line.seq], ['error', seq]);
  await trader.says(LISTENING);
  const ready = await fetch(`${operator.url}/ready`);
  const { status, dependencies } = JSON.parse(await ready.text());
  assert.deepEqual([ready.status, status, dependencies.audit.state], [200, 'degraded', 'degraded']);
  assert.match(dependencies.audit.detail, new RegExp(`record ${seq} of the audit`));
  assert.match(await (await fetch(`${operator.url}/metrics`)).text(), /^fleet_trader_audit_ok 0$/m);
  await stop(trader);
});

test('an invalid configuration is reported with all problems at once, and nothing starts', async (t) => {
  const home = traderHome(t, { port: 99_999, broker: true });
  home.edit('trader.yaml', (text) =>
    text.replace('kind: grid_trader', 'kind: grid').replace('burst: 200', 'bust: 200'),
  );
  const { code, stderr, stdout } = await home.run().ended;
  assert.deepEqual([code, stdout], [1, '']);
  for (const says of [
    /^hermes-fleet: the configuration of trader has 6 problems$/m,
    /^ {2}fleet\.yaml:\d+ fleet\.server\.bind_port: must be a port/m,
    /^ {2}fleet\.yaml:\d+ fleet\.nats\.user_env: NATS_USER is not set/m,
    /^ {2}trader\.yaml:\d+ trader\.strategies\[0\]\.kind: there is no kind grid/m,
    /^ {2}trader\.yaml:\d+ trader\.rate\.bust: unknown key/m,
  ])
    assert.match(stderr, says);
  assert.doesNotMatch(stderr, /at .*\.ts:\d+/, 'a stack trace');

  const wrongName = await home.run('--profile', 'neo').ended;
  assert.match(wrongName.stderr, /this is the trader, not neo/);
});

test('--doctor checks files and peers and writes nothing; --card prints the card', async (t) => {
  const at = await ports();
  const home = traderHome(t, { port: at.trader, env: { SWITCH_PORT: String(at.switch) } });
  const examined = await home.run('--doctor').ended;
  assert.equal(examined.code, 1);
  const report = JSON.parse(examined.stdout);
  assert.deepEqual([report.profile, report.ok], ['trader', false]);
  const findings = report.findings
    .map((f: { state: string; subject: string; check: string; detail: string }) => Object.values(f).join(' '))
    .join('\n');
  assert.match(findings, /fleet\.yaml, trader\.yaml and IDENTITY\.md in /);
  assert.match(findings, /switch reachable failed nobody answers/);
  home.edit('fleet.yaml', (text) => text.replace(/\n {2}agents:.*$/s, '\n'));
  assert.equal((await home.run('--profile', 'trader', '--doctor').ended).code, 0);
  const card = await home.run('--card').ended;
  assert.deepEqual([card.code, JSON.parse(card.stdout).name], [0, 'trader']);
});
