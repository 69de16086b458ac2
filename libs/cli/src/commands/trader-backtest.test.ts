import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet } from '../testing/profile-stub.ts';

const backtest = (...args: string[]) => fleet(['trader', 'backtest', ...args]);

test('a backtest of one strategy prints its figures, and the decisions of its script', async (t) => {
  const dir = tempDir(t);
  const script = join(dir, 'script.jsonl');
  writeFileSync(
    script,
    [
      { bar: 100, decision: { action: 'pause', reason: 'r', confidence: 1 } },
      { bar: 200, decision: { action: 'resume', reason: 'r', confidence: 1 } },
      { bar: 300, decision: { action: 'resume', reason: 'r', confidence: 1 } },
    ]
      .map((line) => JSON.stringify(line))
      .join('\n'),
  );
  const orders = join(dir, 'orders.csv');
  const options = ['--synthetic', '--bars', '1000', '--strategy', 'trend_follower', '--decisions', script];
  const { code, stdout, stderr } = await backtest(...options, '--orders', orders);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(
    stdout,
    /^trend_follower over 1,000 bars, 2026-01-01T00:01:00\.000Z to .*, synthetic, seed 1\n/,
  );
  assert.match(stdout, /\n {2}params {5}fast_bars 12, slow_bars 26/);
  assert.match(stdout, /\n {2}equity {5}10000 -> \d+\.\d\d, -?\d+\.\d\d % \(price -?\d+\.\d\d %\)\n/);
  assert.match(stdout, /\n {2}ratios {5}Sharpe -?\d+\.\d\d, Sortino -?\d+\.\d\d\n/);
  assert.match(stdout, /\n {4}100 +pause +applied +trend_follower +line-1\n/);
  assert.match(stdout, /\n {4}300 +resume +noop +trend_follower +line-3\n$/);
  assert.match(readFileSync(orders, 'utf8'), /^id,strategy_id,.*\norder-1,trend_follower,/);
});

test('the report is a document, the same for the same seed', async () => {
  const options = ['--synthetic', '--bars', '600', '--strategy', 'grid_trader', '--json'];
  const [one, two] = [await backtest(...options), await backtest(...options)];
  assert.equal(one.stdout, two.stdout);
  const report: unknown = JSON.parse(one.stdout);
  assert.ok(isJsonObject(report) && Array.isArray(report.runs) && isJsonObject(report.runs[0]));
  assert.equal(report.runs[0].bars, 600);
  const other = await backtest(...options, '--seed', '2');
  assert.notEqual(other.stdout, one.stdout);
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

const SYNTHETIC = ['--synthetic', '--bars', '50'];
const WRONG: readonly (readonly [readonly string[], RegExp])[] = [
  [[], /name a file of bars with --csv, or use --synthetic/],
  [['--csv', 'x.csv', '--synthetic'], /contradict/],
  [['--csv', 'none.csv', '--strategy', 'grid_trader'], /none\.csv cannot be read \(ENOENT\)/],
  [['--csv', 'x.csv', '--seed', '4'], /need --synthetic/],
  [[...SYNTHETIC, 'x'], /trader backtest takes no "x"/],
  [SYNTHETIC, /--strategy name a strategy/],
  [
    [...SYNTHETIC, '--strategy', 'x'],
    /--strategy x is not a kind \(trend_follower, grid_trader, exposure_protector\)/,
  ],
  [[...SYNTHETIC, '--strategy', 'grid_trader', '--strategy', 'trend_follower'], /add --compare/],
  [
    [...SYNTHETIC, '--strategy', 'grid_trader', '--params', '{"levels": 0}'],
    /--params levels must be at least 1/,
  ],
  [[...SYNTHETIC, '--strategy', 'grid_trader', '--params', '[1]'], /--params must be a JSON object/],
  [
    [...SYNTHETIC, '--strategy', 'grid_trader', '--params', '{"levles": 2}'],
    /--params levles there is no such param/,
  ],
  [[...SYNTHETIC, '--compare', '--params', '{}'], /--params must be given once per --strategy: 1 for 0/],
  [
    [...SYNTHETIC, '--strategy', 'grid_trader', '--market', '{"fees": 1}'],
    /--market fees is not a market setting/,
  ],
  [
    [...SYNTHETIC, '--strategy', 'grid_trader', '--risk-mode', 'wild'],
    /--risk-mode must be one of normal, cautious/,
  ],
  [
    [...SYNTHETIC, '--strategy', 'grid_trader', '--concern', 'a:b'],
    /--concern trader\.yaml has no concern a:b; it has/,
  ],
  [['--synthetic', '--bars', 'many'], /--bars must be a number, not "many"/],
  [['--synthetic', '--bars', '0', '--compare'], /--bars must be at least 1/],
  [['--synthetic', '--start-price', '-1', '--compare'], /--start-price must be a decimal/],
];

for (const [args, expected] of WRONG)
  test(`usage: ${args.join(' ') || 'nothing'}`, async () => {
    const { code, stdout, stderr } = await backtest(...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, expected);
    assert.match(stderr, /hint: fleet trader backtest --help\n$/);
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
