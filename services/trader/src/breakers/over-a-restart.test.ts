import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '@hermes-fleet/gateway/testing';
import { TOKENS, traderHome } from '../../testing/trader-process.ts';

const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';

test('a circuit breaker of a running trader pauses it, over a restart too, until somebody decides', async (t) => {
  const port = await freePort();
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
