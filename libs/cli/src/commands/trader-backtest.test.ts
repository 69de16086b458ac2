import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet } from '../../testing/profile-stub.ts';

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

const SYNTHETIC = ['--synthetic', '--bars', '50'];
const GRID = [...SYNTHETIC, '--strategy', 'grid_trader'];
const WALK = ['--bars', '0', '--seed', '-1', '--volatility-bps', '-1', '--interval-s', '0'];
/** What the command refuses by itself, then what the backtest refuses: a process each, so that some have several faults. */
const WRONG: readonly (readonly [readonly string[], RegExp])[] = [
  [[], /name a file of bars with --csv, or use --synthetic/],
  [['--csv', 'x.csv', '--synthetic'], /contradict/],
  [['--csv', 'x.csv', '--seed', '4'], /need --synthetic/],
  [[...SYNTHETIC, 'x'], /trader backtest takes no "x"/],
  [[...GRID, '--strategy', 'trend_follower'], /add --compare/],
  [[...GRID, '--params', '[1]'], /--params must be a JSON object/],
  [[...SYNTHETIC, '--compare', '--params', '{}'], /--params must be given once per --strategy: 1 for 0/],
  [['--synthetic', '--bars', 'many'], /--bars must be a number, not "many"/],
  [
    [...GRID, '--market', '{"fees": 1, "fees_bps": 1}'],
    /--market fees_bps must be .*\n {2}--market fees is not a market setting/,
  ],
  [[...GRID, '--concern', 'a:b'], /--concern trader\.yaml has no concern a:b; it has/],
  [
    [...GRID, '--params', '{"levels": 0, "levles": 2}'],
    /--params levels must be at least 1\n {2}--params levles there is no such param/,
  ],
  [
    ['--synthetic', ...WALK, '--risk-mode', 'wild', '--compare'],
    /--bars must be .*\n {2}--seed must .*\n {2}--volatility-bps .*\n {2}--interval-s .*\n {2}--risk-mode must be one of normal, cautious/,
  ],
];

for (const [args, expected] of WRONG)
  test(`usage: ${args.join(' ') || 'nothing'}`, async () => {
    const { code, stdout, stderr } = await backtest(...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, expected);
    assert.match(stderr, /hint: fleet trader backtest --help\n$/);
  });
