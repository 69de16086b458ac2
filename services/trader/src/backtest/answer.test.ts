import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { backtestFiles } from '../../testing/backtest/files.ts';
import { GRID, SHIELD, TREND } from '../../testing/store/harness.ts';
import { answer } from './answer.ts';

/** Runs a backtest in an environment without keys. */
function run(request: object): { readonly code: number; readonly report: JsonObject } {
  const { code, text } = answer(JSON.stringify(request), {});
  const report: unknown = JSON.parse(text);
  assert.ok(isJsonObject(report));
  return { code, report };
}

const runsOf = ({ runs }: JsonObject): JsonObject[] => (Array.isArray(runs) ? runs.filter(isJsonObject) : []);
const fieldsOf = ({ error }: JsonObject): string[] => {
  assert.ok(isJsonObject(error) && Array.isArray(error.fields));
  return error.fields.filter(isJsonObject).map(({ path, reason }) => `${path}: ${reason}`);
};
const idOf = ({ strategy }: JsonObject): unknown => isJsonObject(strategy) && strategy.id;

test('all strategies of a concern are compared on the same bars', (t) => {
  const { report } = run(backtestFiles(t).request({ compare: true }));
  assert.deepEqual(runsOf(report).map(idOf), [GRID, TREND, SHIELD]);
  assert.equal(new Set(runsOf(report).map(({ equity }) => equity)).size, 3);
});

test('one kind is compared with other parameters, under an id of its own', (t) => {
  const strategies = [1, 8].map((levels) => ({ strategy: 'grid_trader', params: { levels } }));
  const request = { ...backtestFiles(t).request({ compare: true }), strategies };
  const found = runsOf(run(request).report);
  assert.deepEqual(found.map(idOf), ['grid_trader', 'grid_trader-2']);
  assert.notEqual(found[0]?.equity, found[1]?.equity);
});

test('synthetic bars follow their seed, and settings of the market replace those of the concern', () => {
  const synthetic = (seed: number) => ({ bars: 500, seed, volatility_bps: 60 });
  const ask = (o: object): JsonObject => {
    const base = { config: 'none.yaml', strategies: [{ strategy: 'grid_trader' }], compare: false };
    const [found] = runsOf(run({ ...base, ...o }).report);
    return found ?? assert.fail('nothing ran');
  };
  const one = ask({ synthetic: synthetic(1) });
  assert.deepEqual(ask({ synthetic: synthetic(1) }), one);
  assert.notEqual(ask({ synthetic: synthetic(2) }).equity, one.equity);
  const free = ask({ synthetic: synthetic(1), market: { fees_bps: '0', balances: { quote: '500' } } });
  assert.deepEqual([free.fees, free.opening_equity], ['0', '500']);
  assert.equal(ask({ synthetic: synthetic(1), risk_mode: 'halted' }).fills, 0);
});

test('a wrong request or file ends with exit code 2, names what is wrong, and writes nothing', (t) => {
  const files = backtestFiles(t);
  const orders = join(files.dir, 'orders.csv');
  const bad = join(files.dir, 'bad.csv');
  writeFileSync(bad, 'time,open,high,low,close,volume\n2026-01-01T00:00:00Z,1,2,3,1,1\nx,1,1,1,1,1\n');
  const refused = (o: object, expected: RegExp): void => {
    const { code, report } = run({ ...files.request({ orders }), ...o });
    assert.equal(code, 2);
    assert.match(fieldsOf(report).join('\n'), expected);
    assert.equal(existsSync(orders), false);
  };
  refused({ csv: bad }, /^bad\.csv:2: high must .*\n.*\nbad\.csv:3: time must be a time/);
  refused(
    { concern: 'no:such' },
    /^concern: trader\.yaml has no concern no:such; it has qndd8o9ppop6:xrpusd/,
  );
  refused({ concern: undefined, strategies: [] }, /^strategy: name a strategy of trader\.yaml, or a kind$/);
  refused(
    { strategies: [{ strategy: 'x' }] },
    /^strategy: x is not a kind \(trend_follower, .*\), nor one of 9cf/,
  );
  refused(
    { strategies: [{ strategy: TREND, params: { fast: 1 } }] },
    /^params\.fast: there is no such parameter/,
  );
  refused(
    { market: { fees_bps: 1, x: 2 } },
    /market\.fees_bps: must be a decimal.*\nmarket\.x: is not a market/,
  );
  refused({ compare: true }, /^orders: takes the orders of one strategy/);
  refused({ synthetic: { bars: 0 } }, /^synthetic\.bars: /);
  refused({ decisions: files.script({ bar: 1, decision: {} }) }, /^script\.jsonl:1: decision\.action /);
  refused({ orders: join(files.dir, 'none', 'orders.csv') }, /^orders: .* cannot be written \(ENOENT\)/);
  refused({ config: join(files.dir, 'none.yaml') }, /none\.yaml/);
});
