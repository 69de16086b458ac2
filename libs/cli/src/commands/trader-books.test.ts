import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { fleet, keysFolder, profileStub } from '../testing/profile-stub.ts';

const COUNT = 1_203;
const fill = (entry: number): JsonObject => ({
  entry,
  at: '2026-04-16T20:15:00.000Z',
  event: 'filled',
  decision_id: entry % 2 === 0 ? 'd1' : null,
  id: `o${entry}`,
  strategy_id: 'grid-1',
  side: 'buy',
  quantity: '2',
  fill_price: '2.1',
  fee: '0.0042',
});
const FIGURES: JsonObject = {
  bars: 40,
  opening_equity: '10000',
  equity: '10100',
  return: 0.01,
  drawdown: 0,
  max_drawdown: 0.0345,
  sharpe: 1.234,
  sortino: null,
  exposure: 0.5,
  fills: 7,
  sales: 3,
  wins: 2,
  win_rate: 0.6667,
  profit_factor: 2.5,
  realized_profit: '120',
  fees: '20',
};

/** A trader with books of 1,203 fills, in pages of at most 1,000. */
async function traderStub(t: TestContext) {
  const { dir, token } = keysFolder(t);
  const asked: URL[] = [];
  const server = createServer((request, reply) => {
    const url = new URL(request.url ?? '', 'http://trader');
    asked.push(url);
    if (request.headers.authorization !== `Bearer ${token}`) return void reply.writeHead(401).end('{}');
    if (url.searchParams.get('concern_id') === 'a:b')
      return void reply
        .writeHead(400)
        .end(JSON.stringify({ error: { message: 'there is no such concern' } }));
    const isCsv = url.searchParams.get('format') === 'csv';
    if (url.pathname === '/books/performance') {
      const part = { ...FIGURES, strategy_id: 'grid-1' };
      const decisions = [{ ...FIGURES, decision_id: null }];
      const body = {
        concern_id: 'acct:xrpusd',
        since: 'then',
        total: FIGURES,
        strategies: [part],
        decisions,
        equity: [],
      };
      return void reply.end(isCsv ? 'entry,equity\r\n1,10000\r\n' : JSON.stringify(body));
    }
    const [from, limit] = [Number(url.searchParams.get('after') ?? 0), Number(url.searchParams.get('limit'))];
    const rows = Array.from({ length: Math.min(limit, COUNT - from) }, (_, at) => fill(from + at + 1));
    const next = rows.length === limit ? String(from + limit) : null;
    if (isCsv && next !== null) reply.setHeader('fleet-next', next);
    reply.end(
      isCsv
        ? ['entry,id', ...rows.map(({ entry, id }) => `${entry},${id}`)].map((line) => `${line}\r\n`).join('')
        : JSON.stringify({ concern_id: 'acct:xrpusd', fills: rows, orders: rows, next }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const at = ['--dir', dir, '--reach', `trader=http://127.0.0.1:${address.port}`];
  return { asked, trader: (...args: string[]) => fleet(['trader', ...args, ...at]) };
}

test('fills are printed as a table, twenty by default, with what was asked for', async (t) => {
  const { asked, trader } = await traderStub(t);
  const { code, stdout, stderr } = await trader(
    'fills',
    '--strategy',
    'grid-1',
    '--decision',
    'd1',
    '--oldest',
  );
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^at +event +side +quantity +limit price +fill price +fee +realized pnl +strategy id +decision id/,
  );
  assert.match(stdout, /\n2026-04-16T20:15:00.000Z +filled +buy +2 +2\.1 +0\.0042 +grid-1 +d1\n/);
  assert.equal(stdout.trimEnd().split('\n').length, 21);
  assert.deepEqual(Object.fromEntries(asked[0]?.searchParams ?? []), {
    strategy_id: 'grid-1',
    decision_id: 'd1',
    order: 'oldest',
    limit: '20',
  });
});

test('all of them are read page by page, as JSON and as CSV with one header', async (t) => {
  const { trader } = await traderStub(t);
  const json = JSON.parse((await trader('fills', '--all', '--json')).stdout);
  assert.deepEqual([json.fills.length, json.fills.at(-1).entry], [COUNT, COUNT]);
  const lines = (await trader('orders', '--all', '--csv')).stdout.split('\r\n');
  assert.equal(lines.length, COUNT + 2);
  assert.deepEqual([lines[0], lines[1], lines.at(-2)], ['entry,id', '1,o1', `${COUNT},o${COUNT}`]);
  assert.equal(lines.filter((line) => line === 'entry,id').length, 1);
  const some = JSON.parse((await trader('orders', '--limit', '1001', '--json')).stdout);
  assert.equal(some.orders.length, 1_001);
});

test('performance is printed for the account, for strategies and for decisions', async (t) => {
  const { trader, asked } = await traderStub(t);
  const { stdout } = await trader('performance', '--from', '2026-04-16T20:15:00Z');
  for (const says of [
    /^acct:xrpusd, since then$/m,
    /equity +10100, from 10000/,
    /return +1\.00 %/,
    /drawdown +0\.00 % now, 3\.45 % at most/,
    /sharpe +1\.23, sortino -, a year/,
    /\ngrid-1 +1\.00 % +3\.45 % +1\.23 +120 +20 +7 +66\.67 % +40\n/,
    /\nnone +1\.00 %/,
  ])
    assert.match(stdout, says);
  assert.equal(asked[0]?.searchParams.get('from'), '2026-04-16T20:15:00Z');
  assert.equal((await trader('performance', '--csv')).stdout, 'entry,equity\r\n1,10000\r\n');
});

test('wrong options are usage errors, and the refusal of the trader is told', async (t) => {
  const { trader, asked } = await traderStub(t);
  for (const [args, says] of [
    [['fills', '--limit', '0'], /--limit must be a whole number from 1 on, not "0"/],
    [['fills', '--limit', '3', '--all'], /choose one of --limit and --all/],
    [['orders', '--csv', '--json'], /choose one of --csv and --json/],
    [['orders', 'x'], /trader orders takes no "x"/],
  ] as const) {
    const { code, stdout, stderr } = await trader(...args);
    assert.equal(code, 2, stderr);
    assert.match(`${stdout}${stderr}`, says);
  }
  assert.equal(asked.length, 0);
  const refused = await trader('orders', '--concern', 'a:b');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /there is no such concern/);
});

test('an account is reset with its concern and a reason', async (t) => {
  const { dir, url, asked } = await profileStub(t, {
    '/books/reset': {
      body: {
        concern_id: 'acct:xrpusd',
        before: { equity: '9000', position: '7' },
        after: { equity: '500', position: '0' },
      },
    },
  });
  const reset = (...args: string[]) =>
    fleet(['trader', 'account', 'reset', ...args, '--dir', dir, '--reach', `trader=${url}`]);
  const { code, stdout, stderr } = await reset('--concern', 'acct:xrpusd', '--reason', 'anew');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /is reset\n +equity +9000 -> 500\n +position +7 -> 0\n/);
  assert.deepEqual(
    asked.map(({ method, body }) => [method, body]),
    [['POST', { concern_id: 'acct:xrpusd', reason: 'anew' }]],
  );
  assert.equal((await reset('--concern', 'acct:xrpusd')).code, 2);
});
