import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock, systemIds } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { freeOffset } from '../../../../test/support/ports.ts';
import { openControlStore } from '../store/sqlite-store.ts';
import { TOKENS, traderHome } from '../testing/trader-process.ts';

const KILLS = 8;
const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';

interface Row {
  readonly kind: string;
  readonly event?: string;
  readonly [field: string]: unknown;
}

/** The account that follows from the balances and fills in the books. */
function accountIn(file: string): {
  cash: number;
  position: number;
  fees: number;
  entries: number;
  fills: number;
} {
  using db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('SELECT entry FROM books ORDER BY n').all();
  const account = { cash: 0, position: 0, fees: 0, entries: rows.length, fills: 0 };
  for (const { entry } of rows) {
    const row: Row = JSON.parse(String(entry));
    if (row.kind === 'account')
      Object.assign(account, { cash: Number(row.cash), position: Number(row.position) });
    if (row.event !== 'filled') continue;
    const { side, quantity, fill_price: price, fee } = row.order as Record<string, string>;
    const sign = side === 'buy' ? 1 : -1;
    account.cash -= sign * Number(quantity) * Number(price) + Number(fee);
    account.position += sign * Number(quantity);
    account.fees += Number(fee);
    account.fills += 1;
  }
  return account;
}

function engineIn(file: string): { cash: number; position: number; fees: number; entries: number } {
  using db = new DatabaseSync(file, { readOnly: true });
  const { snapshot } = db.prepare('SELECT snapshot FROM engines').get() ?? {};
  const { account, entries } = JSON.parse(String(snapshot));
  return {
    cash: Number(account.cash),
    position: Number(account.position),
    fees: Number(account.fees),
    entries,
  };
}

const near = (actual: number, expected: number, what: string): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${what}: ${actual} instead of ${expected}`);

test(`a trader that is killed ${KILLS} times while it trades has books that agree with its engine and its audit`, async (t) => {
  const port = 9220 + (await freeOffset());
  const home = traderHome(t, { port });
  home.edit('trader.yaml', (text) =>
    text
      .replace('volatility_bps: 20', 'volatility_bps: 200')
      .replace(/^ {8}interval_s: 5$/m, '        interval_s: 0.02'),
  );
  const file = join(home.stateDir, 'control.db');
  let before = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const trader = home.run();
    await trader.says('Server listening at');
    // Killed at another moment each time, once it has gone on with its books.
    while (accountIn(file).entries < before + 30 + kill * 7)
      await new Promise((resolve) => setTimeout(resolve, 10));
    trader.signal('SIGKILL');
    await trader.ended;
    const [books, engine] = [accountIn(file), engineIn(file)];
    assert.equal(books.entries, engine.entries, `kill ${kill}`);
    for (const what of ['cash', 'position', 'fees'] as const)
      near(books[what], engine[what], `kill ${kill}, ${what}`);
    before = books.entries;
  }
  assert.ok(accountIn(file).fills >= KILLS, `only ${accountIn(file).fills} fills`);
  const store = openControlStore({
    file,
    service: 'trader',
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
  });
  t.after(() => store.close());
  assert.deepEqual((await store.verify()).broken, undefined);
});

test('a circuit breaker of a running trader pauses it, over a restart too, until somebody decides', async (t) => {
  const port = 9220 + (await freeOffset());
  const home = traderHome(t, { port });
  home.edit('trader.yaml', (text) =>
    text
      .replace('volatility_bps: 20', 'volatility_bps: 200')
      .replace(/^ {8}interval_s: 5$/m, '        interval_s: 0.05')
      .replace('      feed:\n', '      breakers: { orders_per_minute: { limit: 3 } }\n      feed:\n'),
  );
  const url = `http://127.0.0.1:${port}`;
  const get = async (path: string): Promise<string> =>
    (
      await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${TOKENS.A2A_HERMES_TOKEN_OPERATOR}` },
      })
    ).text();
  const tripped = /^fleet_trader_breaker_tripped\{[^}]*\} 1$/m;
  const first = home.run();
  await first.says('a circuit breaker tripped: ');
  assert.match(await get('/metrics'), tripped);
  assert.match(await get('/metrics'), /^fleet_trader_run_state\{[^}]*state="paused"[^}]*\} 1$/m);
  first.signal('SIGKILL');
  await first.ended;

  const second = home.run();
  await second.says('Server listening at');
  assert.match(await get('/metrics'), tripped);
  const decide = await fetch(`${url}/jsonrpc`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOKENS.A2A_HERMES_TOKEN_OPERATOR}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'apply_control_decision',
      params: {
        decision_id: 'go-on',
        concern_id: 'qndd8o9ppop6:xrpusd',
        account_id: 'qndd8o9ppop6',
        market_symbol: 'xrpusd',
        action: 'resume',
        expected_active_strategy_id: GRID,
        reason: 'looked at it',
        confidence: 1,
      },
    }),
  });
  assert.match(await decide.text(), /"status":"applied"/);
  assert.doesNotMatch(await get('/metrics'), tripped);
  // The grid places more orders than the breaker allows again.
  await second.says('a circuit breaker tripped: ');
  second.signal('SIGTERM');
  assert.equal((await second.ended).code, 0);
});
