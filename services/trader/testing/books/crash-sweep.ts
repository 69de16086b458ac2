import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { freePort } from '@hermes-fleet/gateway/testing';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { type Share, silentLog, sweepCrashes } from '@hermes-fleet/protocol/testing';
import { openControlStore } from '../../src/store/sqlite-store.ts';
import { traderHome } from '../trader-process.ts';

const KILLS = 8;

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

/** Registers the test of a trader whose process is killed while it trades, several times. */
export function testBookCrashes(share: Share): void {
  test('a trader that is killed while it trades has books that agree with its engine and its audit', async (t) => {
    const home = traderHome(t, { port: await freePort() });
    home.edit('trader.yaml', (text) =>
      text
        .replace('volatility_bps: 20', 'volatility_bps: 200')
        .replace(/^ {8}interval_s: 5$/m, '        interval_s: 0.02'),
    );
    const file = join(home.stateDir, 'control.db');
    let before = { entries: 0, fills: 0 };
    const isDue = (kill: number): boolean => {
      const { entries, fills } = accountIn(file);
      return entries >= before.entries + 30 + kill * 7 && fills > before.fills;
    };
    await sweepCrashes(t, {
      share,
      start: () => Array.from({ length: KILLS }, (_, kill) => kill),
      async act(kill) {
        const trader = home.run();
        await trader.says('Server listening at');
        // Killed at another moment each time, once it has gone on with its books and traded.
        while (!isDue(kill)) await new Promise((resolve) => setTimeout(resolve, 10));
        trader.signal('SIGKILL');
        await trader.ended;
      },
      check() {
        const [books, engine] = [accountIn(file), engineIn(file)];
        assert.equal(books.entries, engine.entries);
        for (const what of ['cash', 'position', 'fees'] as const) near(books[what], engine[what], what);
        before = books;
      },
    });
    const o = { clock: systemClock, ids: systemIds, log: silentLog };
    const store = openControlStore({ ...o, file, service: 'trader' });
    t.after(() => store.close());
    assert.deepEqual((await store.verify()).broken, undefined);
  });
}
