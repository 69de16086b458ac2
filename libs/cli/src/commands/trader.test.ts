import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { fleet, keysFolder } from '../testing/profile-stub.ts';

const GRID = 'grid-1';
const TREND = 'trend-1';
const strategy = (id: string, status: string, market = 'xrpusd'): JsonObject => ({
  id,
  name: `The ${id}`,
  kind: 'grid_trader',
  account_id: 'acct',
  market_symbol: market,
  status,
});
const RESPONSE: JsonObject = {
  ok: true,
  status: 'applied',
  decision_id: 'd1',
  concern_id: 'acct:xrpusd',
  action: 'switch',
  from_strategy_id: GRID,
  to_strategy_id: TREND,
  risk_mode: 'normal',
  dry_run: false,
  warnings: [{ code: 'stays_paused', message: 'resume it' }],
  errors: [],
  result: { mode_change: 'applied', reconciled: true, canceled_orders: 3, inherited_position: '12.5' },
};
const REJECTED: JsonObject = {
  ...RESPONSE,
  ok: false,
  status: 'rejected',
  warnings: [],
  result: {},
  errors: [{ code: 'target_not_found', message: 'there is none', field: 'target_strategy_id' }],
};
const FOUND: JsonObject = {
  strategy: strategy(GRID, 'active'),
  control: {
    concern_id: 'acct:xrpusd',
    active_strategy_id: GRID,
    run_state: 'paused',
    risk_mode: 'cautious',
  },
  position: { quantity: '7', average_price: '2.1' },
  equity: { total: '10000', cash: '9000' },
  performance: {
    strategy: {
      return: 0.0123,
      max_drawdown: 0.02,
      realized_profit: '12.5',
      fees: '0.4',
      fills: 6,
      win_rate: 0.75,
    },
    account: { return: -0.005, drawdown: 0.01, max_drawdown: 0.03 },
  },
  orders: { open: [{ side: 'buy', kind: 'limit', quantity: '5', limit_price: '2', purpose: 'entry' }] },
  execution: { state: 'degraded', reasons: ['the feed is stale'] },
  last_decisions: [
    { decided_at: 'then', action: 'pause', status: 'applied', caller: 'operator', decision_id: 'd0' },
  ],
};

interface Answer {
  readonly status?: number;
  readonly result?: JsonObject;
  readonly error?: JsonObject;
}

/** A trader that answers each method as the test says and records the requests. */
async function traderStub(t: TestContext, answers: Readonly<Record<string, Answer>>) {
  const { dir, token } = keysFolder(t);
  const asked: { text: string; token: string }[] = [];
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    asked.push({ text, token: (request.headers.authorization ?? '').replace('Bearer ', '') });
    const method = /"method":"(\w+)"/.exec(text)?.[1] ?? '';
    const { status = 200, ...body } = answers[method] ?? { error: { message: 'no such method' } };
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = `http://127.0.0.1:${address.port}`;
  const at = ['--dir', dir, '--reach', `trader=${url}`];
  return { dir, token, asked, url, trader: (...args: string[]) => fleet(['trader', ...args, ...at]) };
}

const paramsOf = (text: string | undefined): JsonObject => {
  const { params } = JSON.parse(text ?? '{}');
  if (!isJsonObject(params)) throw new Error(`no params in ${text}`);
  return params;
};

test('list prints the matching strategies, as the operator', async (t) => {
  const result = { strategies: [strategy(GRID, 'active'), strategy(TREND, 'standby')] };
  const { trader, asked, token } = await traderStub(t, { list_strategies: { result } });
  const { code, stdout, stderr } = await trader('list', '--status', 'active', '--account', 'acct');
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^status +name +kind +account +market +id\nactive +The grid-1 +grid_trader +acct +xrpusd +grid-1$/m,
  );
  assert.equal(asked[0]?.token, token);
  assert.deepEqual(paramsOf(asked[0]?.text), { account_id: 'acct', status: 'active' });
  assert.deepEqual(JSON.parse((await trader('list', '--json')).stdout), result);
});

test('get prints the position, orders and control state of a strategy', async (t) => {
  const { trader, asked } = await traderStub(t, { get_strategy: { result: FOUND } });
  const { code, stdout } = await trader('get', GRID);
  assert.equal(code, 0);
  for (const says of [
    /^The grid-1 \(grid_trader\), active: grid-1$/m,
    /control +paused, risk mode cautious/,
    /position +7 at 2\.1/,
    /return +-0\.50 %, drawdown 1\.00 % now, 3\.00 % at most/,
    /own +1\.23 %, drawdown 2\.00 % at most, 12\.5 realized, 0\.4 fees, 6 fills, 75\.00 % of its sales with a profit/,
    /execution +degraded; the feed is stale/,
    /orders +1 open\n +side +kind.*\n +buy +limit +5 +2 +entry/,
    /then +pause +applied +operator +d0/,
  ])
    assert.match(stdout, says);
  assert.deepEqual(paramsOf(asked[0]?.text), { strategy_id: GRID });
});

test('get says of a strategy that was never active, and nothing of books that are not read', async (t) => {
  const idle = { ...FOUND, performance: { strategy: null, account: { return: 0, drawdown: 0 } } };
  const { trader } = await traderStub(t, { get_strategy: { result: idle } });
  assert.match((await trader('get', GRID)).stdout, /own +it was never active/);
  const unread = await traderStub(t, { get_strategy: { result: { ...FOUND, performance: null } } });
  assert.doesNotMatch((await unread.trader('get', GRID)).stdout, /^ +(return|own)/m);
});

test('decide sends a file unchanged, and its exit code follows the answer', async (t) => {
  const odd = '{"confidence": 1e400, "reason":"\\u00e4",  "reason":"twice", "n": 1.0}';
  for (const [answer, code, says] of [
    [{ result: RESPONSE }, 0, /^applied: switch at acct:xrpusd \(d1\)\n.*grid-1 -> trend-1/],
    [{ result: { ...RESPONSE, status: 'noop' } }, 0, /canceled +3 orders\n +inherited +a position of 12\.5/],
    [{ result: REJECTED }, 3, /error target_not_found \(target_strategy_id\): there is none/],
    [{ result: REJECTED, status: 403 }, 3, /^rejected/],
    [{ result: { ...REJECTED, status: 'failed' } }, 1, /^failed/],
  ] as const) {
    const { trader, asked, dir } = await traderStub(t, { apply_control_decision: answer });
    const file = join(dir, 'decision.json');
    writeFileSync(file, odd);
    const ended = await trader('decide', file);
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stdout, says);
    assert.ok(asked[0]?.text.endsWith(`"params":${odd}}`), asked[0]?.text);
  }
});

test('decide reads the token and then the decision from stdin', async (t) => {
  const { asked, url } = await traderStub(t, { apply_control_decision: { result: RESPONSE } });
  const args = ['trader', 'decide', '-', '--json', '--token-stdin', '--reach', `trader=${url}`];
  const { code, stdout } = await fleet(args, 'the-token\n{"a": 1}\n');
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), RESPONSE);
  assert.deepEqual([asked[0]?.token, paramsOf(asked[0]?.text)], ['the-token', { a: 1 }]);
});

test('decide builds a decision from options, for the only concern by default', async (t) => {
  const { trader, asked } = await traderStub(t, {
    list_strategies: { result: { strategies: [strategy(GRID, 'active'), strategy(TREND, 'standby')] } },
    apply_control_decision: { result: RESPONSE },
  });
  const before = Date.now();
  const more = ['--expected', 'none', '--risk-mode', 'cautious', '--dry-run', '--id', 'd9'];
  assert.equal(
    (await trader('decide', '--action', 'switch', '--target', TREND, '--reason', 'x', ...more)).code,
    0,
  );
  const { requested_at, ...sent } = paramsOf(asked[1]?.text);
  assert.deepEqual(sent, {
    decision_id: 'd9',
    concern_id: 'acct:xrpusd',
    account_id: 'acct',
    market_symbol: 'xrpusd',
    action: 'switch',
    target_strategy_id: TREND,
    expected_active_strategy_id: null,
    risk_mode: 'cautious',
    reason: 'x',
    confidence: 1,
    dry_run: true,
  });
  assert.ok(Date.parse(String(requested_at)) >= before);

  const args = [
    '--action',
    'pause',
    '--reason',
    'x',
    '--concern',
    'other:eurusd',
    '--confidence',
    '0.25',
    '--override',
  ];
  assert.equal((await trader('decide', ...args)).code, 0);
  assert.equal(asked.length, 3, 'a named concern is not looked up');
  const pause = paramsOf(asked[2]?.text);
  assert.deepEqual(
    [pause.account_id, pause.market_symbol, pause.confidence, pause.override],
    ['other', 'eurusd', 0.25, true],
  );
  assert.match(String(pause.decision_id), /^cli-/);
});

test('an invalid trader command line ends with 2 and sends no decision', async (t) => {
  const two = [strategy(GRID, 'active'), strategy(TREND, 'standby', 'eurusd')];
  const { trader, asked, dir } = await traderStub(t, { list_strategies: { result: { strategies: two } } });
  const pause = ['decide', '--action', 'pause', '--reason', 'x'];
  const named = [...pause, '--concern', 'a:b'];
  const wrong: [string[], RegExp][] = [
    [['fly'], /unknown command 'fly'/],
    [['get'], /trader get takes the id/],
    [['list', 'all'], /trader list takes no "all"/],
    [['decide'], /takes a file/],
    [['decide', 'a.json', '--action', 'pause'], /a file holds the whole decision/],
    [['decide', 'a.json', 'b.json'], /takes one file/],
    [pause, /say which --concern: acct:xrpusd, acct:eurusd/],
    [[...named, '--confidence', 'high'], /--confidence must be a number from 0 to 1/],
    [
      ['decide', '--action', 'resume', ...named.slice(3), '--risk-mode', 'brave', '--confidence', '1.5'],
      /--risk-mode must .*\n {2}--confidence must be at most 1\n/,
    ],
    [['decide', '--action', 'keep', '--reason', 'x', '--concern', 'a:b'], /--action is not one of /],
  ];
  for (const [args, says] of wrong) {
    const { code, stderr } = await trader(...args);
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, says);
  }
  assert.ok(asked.every(({ text }) => text.includes('list_strategies')));
  const other = await fleet(['trader', 'list', '--dir', dir, '--reach', 'switch=http://127.0.0.1:1']);
  assert.deepEqual([other.code, /there is no trader, only switch/.test(other.stderr)], [2, true]);
});

test('trader ends with 1 when the trader is down or refuses, and for a file that is not JSON', async (t) => {
  const { trader, asked, dir } = await traderStub(t, {
    get_strategy: { status: 404, error: { message: 'there is no such strategy' } },
    list_strategies: { status: 401 },
  });
  const away = await fleet(['trader', 'list', '--dir', dir, '--reach', 'trader=http://127.0.0.1:1']);
  assert.equal(away.code, 1);
  assert.match(away.stderr, /no fleet runs \(trader does not answer at .*\): make up first/);
  const none = await trader('get', 'ghost');
  assert.deepEqual([none.code, none.stdout], [1, '']);
  assert.match(none.stderr, /trader answered HTTP 404: there is no such strategy/);
  assert.match((await trader('list')).stderr, /trader does not accept the token/);
  const before = asked.length;
  const file = join(dir, 'broken.json');
  writeFileSync(file, '{"a": ');
  const broken = await trader('decide', file);
  assert.deepEqual([broken.code, asked.length], [1, before]);
  assert.match(broken.stderr, /not JSON: nothing was sent/);
});
