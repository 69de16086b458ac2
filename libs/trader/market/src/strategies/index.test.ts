import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { HISTORY_BARS } from '../broker/state.ts';
import { createStrategy, STRATEGY_KINDS } from './index.ts';

const KINDS = ['trend_follower', 'grid_trader', 'exposure_protector'];
const made = (kind: string, params: JsonObject) => createStrategy({ id: 's1', kind, params });

function fieldsOf(kind: string, params: JsonObject): string[] {
  try {
    made(kind, params);
  } catch (thrown) {
    assert.ok(thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID', String(thrown));
    assert.match(thrown.message, /^strategy s1/);
    return thrown.fields.map(({ path }) => path);
  }
  return assert.fail('the parameters were taken');
}

describe('the strategy kinds', () => {
  it('are three', () => assert.deepEqual(Object.keys(STRATEGY_KINDS), KINDS));

  for (const kind of KINDS)
    it(`${kind} works without any parameter, and its defaults are JSON`, () => {
      const strategy = made(kind, {});
      assert.ok(strategy.warmupBars >= 1 && strategy.warmupBars <= HISTORY_BARS);
      const params = STRATEGY_KINDS[kind]?.params.parse({});
      assert.ok(isJsonObject(params));
      assert.deepEqual(JSON.parse(JSON.stringify(params)), params);
    });

  for (const [kind, params, fields] of [
    ['trend_follower', { fast_bars: 26, slow_bars: 12 }, ['params.fast_bars']],
    ['trend_follower', { fast_bars: '5', risk_share: 0.01 }, ['params.fast_bars', 'params.risk_share']],
    ['trend_follower', { risk_share: '0', stop_atr: '1e3' }, ['params.risk_share', 'params.stop_atr']],
    ['trend_follower', { slow: 3, fast: 2 }, ['params.slow', 'params.fast']],
    ['grid_trader', { centre: 'x', levels: 0 }, ['params.centre', 'params.levels']],
    ['grid_trader', { levels: 20, order_share: '0.06' }, ['params.order_share']],
    ['grid_trader', { order_share: 'x' }, ['params.order_share']],
    ['grid_trader', { spacing_bps: 0.5 }, ['params.spacing_bps']],
    [
      'exposure_protector',
      { target_share: '1.01', tolerance: null },
      ['params.target_share', 'params.tolerance'],
    ],
    ['exposure_protector', { tolerance: '-0.1' }, ['params.tolerance']],
    ['market_maker', {}, ['kind']],
    ['constructor', {}, ['kind']],
  ] as const)
    it(`names the wrong parameters in ${kind} ${JSON.stringify(params)}`, () => {
      assert.deepEqual(fieldsOf(kind, params), fields);
    });

  it('need no more bars than an engine keeps, for all parameters', () => {
    const longest = { fast_bars: 100, slow_bars: 150, atr_bars: 100, entry_bars: 20 };
    assert.ok(made('trend_follower', longest).warmupBars <= HISTORY_BARS);
    assert.ok(made('grid_trader', { centre_bars: 200 }).warmupBars <= HISTORY_BARS);
  });
});
