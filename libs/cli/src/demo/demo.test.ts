import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { ControlResponseWire } from '@hermes-fleet/protocol/control';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createMetrics } from '@hermes-fleet/service';
import { fleet } from '../../testing/profile-stub.ts';
import { keyPaths } from '../keys/layout.ts';
import { runDemo } from './demo.ts';

const TOKEN = 'a-token-of-the-operator';

const result = (fields: JsonObject): JsonObject => ({
  type: 'TASK_RESULT',
  protocol_version: '2.0',
  task_id: 'x',
  status: 'done',
  tokens_spent: 120,
  next_steps: [],
  blocked_reason: null,
  artifacts: { files_changed: [] },
  executed_by: 'neo',
  ...fields,
});
const attempt = (peer: string): JsonObject => ({
  peer,
  status: 'blocked',
  reason: 'too little',
  tokens_spent: 0,
  started_at: '2026-01-01T00:00:00Z',
  ended_at: '2026-01-01T00:00:01Z',
});
const blocked = { status: 'blocked', blocked_reason: 'nobody has "nope"', tokens_spent: 0 };
const evidence = [{ kind: 'command', detail: 'cat hello.txt', exit_code: 0 }];

/** Answers of the scripted profile, by dispatch. */
const GOOD: Record<string, JsonObject> = {
  routed: result({ artifacts: { files_changed: ['hello.txt'] }, evidence }),
  blocked: result(blocked),
  poor: result({ ...blocked, attempts: [attempt('neo'), attempt('trinity')] }),
  text: result({ artifacts: { files_changed: ['note.txt'] } }),
};
const ANNOUNCE: JsonObject = {
  type: 'SESSION_ANNOUNCE',
  protocol_version: '2.0',
  worker: { agent_id: 'switch', model: 'offline/runbook', model_tier: 'sonnet', context_window: 128_000 },
  capabilities: { tools: ['file'], mcp_servers: ['filesystem'] },
  mcp_health: { filesystem: 'timeout' },
  session: {
    context_id: 'c',
    active_tasks: 2,
    repo_state: { branch: 'main', clean: true },
    session_fresh: true,
  },
  role: 'orchestrator',
};

/** A profile with scripted answers and real metrics. */
async function profile(t: TestContext, answers: Record<string, JsonObject>): Promise<string> {
  const metrics = createMetrics({ profile: 'switch', peers: ['neo'], callers: ['operator'] });
  metrics.set('fleet_peer_last_announce_timestamp_seconds', { peer: 'neo' }, 1);
  const server = createServer(async (request, reply) => {
    if (request.method === 'GET') return reply.end(await metrics.registry.metrics());
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return reply.writeHead(401).end('{}');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { message } = JSON.parse(Buffer.concat(chunks).toString()).params;
    const kind = /-(routed|blocked|poor|text)$/.exec(message.messageId)?.[1];
    if (kind === undefined)
      return reply.end(JSON.stringify({ result: { message: { parts: [{ data: ANNOUNCE }] } } }));
    const data = answers[kind];
    if (data === undefined) return reply.end(JSON.stringify({ error: { message: 'the store is full' } }));
    if (typeof data.tokens_spent === 'number')
      metrics.count([
        { counter: 'tokens_spent', labels: ['operator', 'haiku', 'input'], by: data.tokens_spent },
      ]);
    if (data.status === 'blocked')
      metrics.count([{ counter: 'admissions', labels: ['blocked', 'mcp'], by: 1 }]);
    return reply.end(JSON.stringify({ result: { task: { artifacts: [{ parts: [{ data }] }] } } }));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return `http://127.0.0.1:${address.port}`;
}

const VALIDATION = Object.fromEntries(
  Object.keys(ControlResponseWire.shape.validation.shape).map((check) => [check, true]),
);

/** A trader with two strategies and scripted answers to decisions. */
async function traderStub(t: TestContext, changes: Record<string, JsonObject> = {}) {
  const strategy = (id: string, status: string): JsonObject => ({
    id,
    name: `The ${id}`,
    kind: 'grid_trader',
    params: {},
    account_id: 'acct',
    market_symbol: 'xrpusd',
    status,
  });
  const sent: JsonObject[] = [];
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, params } = JSON.parse(Buffer.concat(chunks).toString());
    if (method === 'list_strategies') {
      const strategies = [strategy('trend', 'standby'), strategy('grid', 'active')];
      return reply.end(JSON.stringify({ result: { strategies } }));
    }
    const isCopy = sent.some(({ decision_id: id, dry_run: dry }) => id === params.decision_id && !dry);
    sent.push(params);
    const kind = params.dry_run
      ? 'dry'
      : isCopy
        ? 'copy'
        : params.target_strategy_id === 'grid'
          ? 'back'
          : 'there';
    const answer = { status: kind === 'dry' || isCopy ? 'noop' : 'applied', risk_mode: 'normal' };
    const response = {
      ...answer,
      ...{ ok: true, decision_id: params.decision_id, concern_id: 'acct:xrpusd', action: 'switch' },
      ...{ dry_run: kind === 'dry', validation: VALIDATION, applied_at: null, errors: [] },
      from_strategy_id: params.expected_active_strategy_id,
      to_strategy_id: params.target_strategy_id,
      warnings: isCopy ? [{ code: 'duplicate_decision', message: 'sent before' }] : [],
      result: { mode_change: 'applied', reconciled: true, would_status: 'applied' },
      ...changes[kind],
    };
    return reply.end(JSON.stringify({ result: response }));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return { trader: { name: 'trader', url: `http://127.0.0.1:${address.port}` }, sent };
}

async function demo(
  url: string,
  token = TOKEN,
  trader?: { name: string; url: string },
): Promise<{ text: string; problems: readonly string[] }> {
  const lines: string[] = [];
  const switchAt = [{ name: 'switch', url }];
  const problems = await runDemo({
    profiles: switchAt,
    trader,
    shown: [...switchAt, { name: 'prometheus', url: 'http://127.0.0.1:9090' }],
    token,
    id: 'demo-1',
    write: (line) => lines.push(line),
  });
  return { text: lines.join('\n'), problems };
}

test('the demo prints the answers of a fleet that works', async (t) => {
  const { text, problems } = await demo(await profile(t, GOOD));
  assert.deepEqual(problems, []);
  assert.match(
    text,
    /switch +orchestrator +sonnet +offline\/runbook +ready +2 running +MCP: filesystem timeout/,
  );
  assert.match(
    text,
    /worker +neo\n +files +hello\.txt\n +ran +cat hello\.txt \(exit code 0\)\n +tokens +120/,
  );
  assert.match(text, /reason +nobody has "nope"\n +tokens +0/);
  assert.match(text, /- neo +blocked: too little\n +- trinity/);
  assert.match(text, /fleet_tokens_spent_total +\+240 .*240/);
  assert.match(text, /\{decision="blocked"\} +\+2/);
  assert.match(text, /Prometheus +http:\/\/127\.0\.0\.1:9090/);
});

test('the demo reports an unexpected answer and continues with the other steps', async (t) => {
  const cases: [Record<string, JsonObject>, RegExp][] = [
    [{ routed: result({ status: 'partial', remaining: ['the rest'] }) }, /status is partial.*the rest/],
    [{ routed: result({ artifacts: { files_changed: ['other.txt'] } }) }, /hello\.txt is not among/],
    [{ routed: result({ artifacts: { files_changed: ['hello.txt'] }, tokens_spent: 0 }) }, /no tokens/],
    [{ blocked: result({}) }, /status is done, not blocked/],
    [{ blocked: result({ ...blocked, tokens_spent: 7 }) }, /7 tokens were spent/],
    [{ poor: result({ ...blocked, attempts: [attempt('neo')] }) }, /was not passed on/],
    [{ text: { type: 'SOMETHING' } }, /no TASK_RESULT/],
  ];
  for (const [wrong, says] of cases) {
    const { text, problems } = await demo(await profile(t, { ...GOOD, ...wrong }));
    assert.match(problems.join('\n'), says);
    assert.match(text, /NOT AS EXPECTED/);
    assert.match(text, /Where to see more/);
  }
  const { routed: _, ...others } = GOOD;
  assert.match((await demo(await profile(t, others))).problems.join(), /switch refused: the store is full/);
});

test('the trader gets a dry run, the decision, a copy of it, and a switch back', async (t) => {
  const { trader, sent } = await traderStub(t);
  const { text, problems } = await demo(await profile(t, GOOD), TOKEN, trader);
  assert.deepEqual(problems, []);
  assert.match(
    text,
    /dry run +noop, would be applied\n +decision +applied: The grid -> The trend, risk mode normal\n +its copy +noop: duplicate_decision\n +and back +applied: The trend -> The grid/,
  );
  assert.match(text, /decisions +\.\/fleet trader audit show/);
  const [dry, real, copy, back] = sent;
  assert.deepEqual({ ...real, dry_run: true }, dry);
  assert.deepEqual(copy, real);
  assert.deepEqual([back?.target_strategy_id, back?.expected_active_strategy_id], ['grid', 'trend']);
  assert.notEqual(back?.decision_id, real?.decision_id);
});

test('the demo reports an unexpected answer to a decision', async (t) => {
  const errors = [{ code: 'execution_degraded', message: 'the feed is stale' }];
  const cases: [Record<string, JsonObject>, RegExp][] = [
    [
      { there: { status: 'rejected', errors } },
      /the decision is rejected, not applied \(execution_degraded: the feed/,
    ],
    [{ dry: { status: 'applied' } }, /the dry run is applied, not noop/],
    [{ copy: { status: 'applied' } }, /the copy of the decision is applied, not noop/],
    [{ copy: { warnings: [] } }, /the copy is not reported as a duplicate/],
    [{ back: { status: 'failed' } }, /the decision to switch back is failed/],
  ];
  for (const [changes, says] of cases) {
    const { trader } = await traderStub(t, changes);
    const { problems } = await demo(await profile(t, GOOD), TOKEN, trader);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', says);
  }
});

test('the demo fails without a fleet and reports a rejected token', async (t) => {
  const url = await profile(t, GOOD);
  const { problems } = await demo(url, 'another-token-entirely');
  assert.match(problems.join(), /switch does not accept the token/);
  await assert.rejects(demo('http://127.0.0.1:1'), { code: 'PEER_UNREACHABLE' });
});

test('the command ends with 1 and one line without a fleet, and with 2 for an unknown option', async (t) => {
  const dir = tempDir(t, { prefix: 'demo-' });
  const none = await fleet(['demo', '--dir', dir]);
  assert.deepEqual([none.code, none.stdout], [1, '']);
  assert.match(
    none.stderr,
    /^fleet: there are no keys in .*\nhint: make ps shows what of the fleet runs.*\n$/,
  );
  assert.equal((await fleet(['demo', '--reach', 'switch'])).code, 2);
  assert.equal((await fleet(['demo', '--fast'])).code, 2);
});

test('the command ends with 1 when a step fails', async (t) => {
  const good = await profile(t, GOOD);
  const dir = tempDir(t, { prefix: 'demo-' });
  const { operatorToken } = keyPaths(join(dir, 'keys'));
  mkdirSync(dirname(operatorToken), { recursive: true });
  writeFileSync(operatorToken, TOKEN, { mode: 0o600 });
  const args = (url: string) => ['demo', '--dir', dir, '--reach', `switch=${url}`];
  const { code, stdout, stderr } = await fleet(args(good));
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Routed: switch/);
  const bad = await profile(t, { ...GOOD, text: result({ status: 'partial', remaining: ['all'] }) });
  const failed = await fleet(args(bad));
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /2 steps|a step/);
  assert.match(failed.stderr, /status is partial/);
});
