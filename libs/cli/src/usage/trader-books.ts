import { type OptionSpecs, usage } from '../command-line/command.ts';
import { FLEET_OPTIONS } from '../command-line/shared-options.ts';

const { profile: _, ...TRADER_OPTIONS } = FLEET_OPTIONS;

const RANGE_OPTIONS = {
  ...TRADER_OPTIONS,
  concern: { type: 'string', value: 'account:market', help: 'needed if the trader has several' },
  from: { type: 'string', value: 'time', help: 'from this time on, such as 2026-04-16T20:15:00Z' },
  to: { type: 'string', value: 'time', help: 'before this time' },
  csv: { type: 'boolean', help: 'print CSV' },
} as const satisfies OptionSpecs;

const ORDER_OPTIONS = {
  ...RANGE_OPTIONS,
  strategy: { type: 'string', value: 'id', help: 'of this strategy only' },
  decision: { type: 'string', value: 'id', help: 'caused by this decision only' },
  oldest: { type: 'boolean', help: 'the oldest first' },
  limit: { type: 'string', value: 'count', help: 'how many; 20 by default' },
  all: { type: 'boolean', help: 'all of them' },
} as const satisfies OptionSpecs;

export const traderOrdersUsage = usage({
  name: 'trader orders',
  summary: 'print what happened to orders, newest first',
  options: ORDER_OPTIONS,
  examples: ['trader orders --limit 5', 'trader orders --all --oldest --csv > orders.csv'],
});

export const traderFillsUsage = usage({
  name: 'trader fills',
  summary: 'print fills with fees and realized profit, newest first',
  options: ORDER_OPTIONS,
  examples: ['trader fills --limit 5', 'trader fills --all --oldest --csv > fills.csv'],
});

export const traderPerformanceUsage = usage({
  name: 'trader performance',
  summary: 'print return, drawdown and ratios of the account, of strategies and of decisions',
  options: {
    ...RANGE_OPTIONS,
    points: { type: 'string', value: 'count', help: 'points of the equity in JSON and CSV; 300 by default' },
  },
  examples: ['trader performance', 'trader performance --csv --points 1000 > equity.csv'],
});

const BACKTEST_OPTIONS = {
  csv: { type: 'string', value: 'file', help: 'bars with the columns time,open,high,low,close,volume' },
  synthetic: { type: 'boolean', help: 'a seeded random walk instead of a file' },
  bars: { type: 'string', value: 'n', help: 'how many synthetic bars; 20000 by default' },
  seed: { type: 'string', value: 'n', help: 'the seed of synthetic bars; 1 by default' },
  'start-price': { type: 'string', value: 'price', help: 'of synthetic bars; 1 by default' },
  'volatility-bps': { type: 'string', value: 'bps', help: 'of synthetic bars, per bar; 20 by default' },
  'interval-s': { type: 'string', value: 's', help: 'seconds between synthetic bars; 60 by default' },
  strategy: {
    type: 'string',
    multiple: true,
    value: 'id',
    help: 'a kind, or a strategy of trader.yaml; repeat it with --compare',
  },
  params: {
    type: 'string',
    multiple: true,
    value: 'json',
    help: 'parameters that replace those of the strategy; repeat it once per --strategy',
  },
  compare: { type: 'boolean', help: 'compare several strategies; all of them without --strategy' },
  decisions: { type: 'string', value: 'file', help: 'a script of decisions to replay, as JSON Lines' },
  concern: {
    type: 'string',
    value: 'account:market',
    help: 'use the market settings and strategies of this concern',
  },
  config: {
    type: 'string',
    value: 'file',
    help: 'the trader.yaml of the concern; deploy/trader/trader.yaml by default',
  },
  market: { type: 'string', value: 'json', help: 'market settings that replace those of the concern' },
  'risk-mode': { type: 'string', value: 'mode', help: 'the risk mode at the start; normal by default' },
  orders: { type: 'string', value: 'file', help: 'write all orders to this file, as CSV' },
} as const satisfies OptionSpecs;

export const traderBacktestUsage = usage({
  name: 'trader backtest',
  summary: 'run strategies over bars of the past, as fast as it can',
  options: BACKTEST_OPTIONS,
  examples: [
    'trader backtest --synthetic --strategy trend_follower',
    `trader backtest --csv bars.csv --strategy grid_trader --params '{"levels": 8}'`,
    'trader backtest --synthetic --seed 7 --compare',
  ],
});
