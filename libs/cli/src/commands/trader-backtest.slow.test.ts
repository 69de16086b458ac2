import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet } from '../../testing/profile-stub.ts';

/** Runs a backtest: a process of the trader that loads its strategies. */
const backtest = (...args: string[]) => fleet(['trader', 'backtest', ...args]);

test('the report is a document, of the bars that the options describe', async () => {
  const options = ['--synthetic', '--bars', '600', '--seed', '2', '--strategy', 'grid_trader', '--json'];
  const report: unknown = JSON.parse((await backtest(...options)).stdout);
  assert.ok(isJsonObject(report) && Array.isArray(report.runs) && isJsonObject(report.runs[0]));
  assert.equal(report.runs[0].bars, 600);
  assert.match(JSON.stringify(report), /"seed":2[,}]/);
});

test('a comparison is a table with a row for each strategy', async () => {
  const { code, stdout } = await backtest('--synthetic', '--bars', '500', '--compare');
  assert.equal(code, 0);
  const [period, head, ...rows] = stdout.trimEnd().split('\n');
  assert.match(period ?? '', /^500 bars, .* synthetic, seed 1; price /);
  assert.match(
    head ?? '',
    /^strategy +return +drawdown +Sharpe +Sortino +wins +factor +exposure +fills +rejects +fees$/,
  );
  assert.deepEqual(
    rows.map((row) => row.split(' ')[0]),
    ['trend_follower', 'grid_trader', 'exposure_protector'],
  );
});

for (const [args, expected] of [
  [['--csv', 'none.csv', '--strategy', 'grid_trader'], /none\.csv cannot be read \(ENOENT\)/],
  [['--synthetic', '--strategy', 'x'], /--strategy x is not a kind \(trend_follower, grid_trader, exposure_/],
  [['--synthetic', '--start-price', '-1', '--compare'], /--start-price must be a decimal/],
] as const)
  test(`usage: ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await backtest(...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, expected);
  });

test('wrong rows of the file are named, and no orders are written', async (t) => {
  const dir = tempDir(t);
  const [csv, orders] = [join(dir, 'bars.csv'), join(dir, 'orders.csv')];
  writeFileSync(csv, 'time,open,high,low,close,volume\n2026-01-01T00:00:00Z,1,1,1,1\nx,1,1,1,1,1\n');
  const { code, stderr } = await backtest('--csv', csv, '--strategy', 'grid_trader', '--orders', orders);
  assert.equal(code, 2);
  assert.match(stderr, /bars\.csv:2 has 5 columns instead of 6\n {2}bars\.csv:3 time must be a time such as/);
  assert.equal(existsSync(orders), false);
});
