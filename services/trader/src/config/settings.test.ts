import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFeed } from '@hermes-fleet/market';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { TraderConfigSchema } from './schema.ts';
import { runtimeConcerns, settingsOf } from './settings.ts';

const concern = (account_id: string) => ({
  account_id,
  market_symbol: 'x',
  balances: { quote: '100' },
  feed: { kind: 'synthetic', start_price: '2' },
  limits: { max_order: '1', max_position: '2', min_order: '0.1' },
});
const config = TraderConfigSchema.parse({
  trader: {
    callers: { operator: { accounts: ['a', '*'] }, switch: { accounts: ['a'] } },
    concerns: [concern('a'), { ...concern('b'), run_state: 'paused', risk_mode: 'halted' }],
    strategies: [
      {
        id: 's',
        name: 'S',
        kind: 'exposure_protector',
        account_id: 'a',
        market_symbol: 'x',
        status: 'disabled',
      },
    ],
  },
});

test('a caller has its accounts, "*" stands for all, and an unlisted caller has none', () => {
  const { accountsOf } = settingsOf(config).access;
  assert.deepEqual(['operator', 'switch', 'neo', 'constructor', '__proto__'].map(accountsOf), [
    '*',
    ['a'],
    [],
    [],
    [],
  ]);
});

test('the file becomes the settings of store, decision service and runtime, with units and defaults', () => {
  const { policy, limits, strategies, concerns } = settingsOf(config);
  assert.deepEqual(policy, {
    maxAgeMs: 300_000,
    futureSlackMs: 60_000,
    minConfidence: 0,
    strictDegraded: false,
  });
  assert.deepEqual(limits, { perSecond: 50, burst: 200, keptForPause: 20 });
  assert.deepEqual(strategies, [
    {
      id: 's',
      name: 'S',
      kind: 'exposure_protector',
      params: {},
      status: 'disabled',
      accountId: 'a',
      marketSymbol: 'x',
    },
  ]);
  assert.deepEqual(concerns, [
    {
      id: 'a:x',
      accountId: 'a',
      marketSymbol: 'x',
      activeStrategyId: null,
      runState: 'running',
      riskMode: 'normal',
    },
    {
      id: 'b:x',
      accountId: 'b',
      marketSymbol: 'x',
      activeStrategyId: null,
      runState: 'paused',
      riskMode: 'halted',
    },
  ]);
  const feed = createFeed(
    { kind: 'synthetic', seed: 1, start_price: '2', volatility_bps: 1, interval_s: 1 },
    systemClock,
  );
  const [first, ...others] = runtimeConcerns(config, new Map([['b:x', feed]]));
  assert.deepEqual([first?.id, first?.feed, others], ['b:x', feed, []]);
  assert.equal(first?.market.balances.quote.toString(), '100');
  assert.equal(first?.degraded.stale_after_bars, 3);
});
