import { flag, type OptionSpecs, text, texts, usage } from '../command-line/command.ts';
import { SERVICE_OPTIONS } from '../command-line/shared-options.ts';

const RANGE_OPTIONS = {
  ...SERVICE_OPTIONS,
  concern: text('account:market', 'needed if the trader has several'),
  from: text('time', 'from this time on, such as 2026-04-16T20:15:00Z'),
  to: text('time', 'before this time'),
  csv: flag('print CSV'),
} satisfies OptionSpecs;

const ORDER_OPTIONS = {
  ...RANGE_OPTIONS,
  strategy: text('id', 'of this strategy only'),
  decision: text('id', 'caused by this decision only'),
  oldest: flag('the oldest first'),
  limit: text('count', 'how many; 20 by default'),
  all: flag('all of them'),
} satisfies OptionSpecs;

export const traderOrdersUsage = usage('trader orders', 'print what happened to orders, newest first', {
  options: ORDER_OPTIONS,
  examples: ['trader orders --limit 5', 'trader orders --all --oldest --csv > orders.csv'],
});

export const traderFillsUsage = usage(
  'trader fills',
  'print fills with fees and realized profit, newest first',
  {
    options: ORDER_OPTIONS,
    examples: ['trader fills --limit 5', 'trader fills --all --oldest --csv > fills.csv'],
  },
);

export const traderPerformanceUsage = usage(
  'trader performance',
  'print return, drawdown and ratios of the account, of strategies and of decisions',
  {
    options: {
      ...RANGE_OPTIONS,
      points: text('count', 'points of the equity in JSON and CSV; 300 by default'),
    },
    examples: ['trader performance', 'trader performance --csv --points 1000 > equity.csv'],
  },
);

const BACKTEST_OPTIONS = {
  csv: text('file', 'bars with the columns time,open,high,low,close,volume'),
  synthetic: flag('a seeded random walk instead of a file'),
  bars: text('n', 'how many synthetic bars; 20000 by default'),
  seed: text('n', 'the seed of synthetic bars; 1 by default'),
  'start-price': text('price', 'of synthetic bars; 1 by default'),
  'volatility-bps': text('bps', 'of synthetic bars, per bar; 20 by default'),
  'interval-s': text('s', 'seconds between synthetic bars; 60 by default'),
  strategy: texts('id', 'a kind, or a strategy of trader.yaml; repeat it with --compare'),
  params: texts('json', 'parameters that replace those of the strategy; repeat it once per --strategy'),
  compare: flag('compare several strategies; all of them without --strategy'),
  decisions: text('file', 'a script of decisions to replay, as JSON Lines'),
  concern: text('account:market', 'use the market settings and strategies of this concern'),
  config: text('file', 'the trader.yaml of the concern; deploy/trader/trader.yaml by default'),
  market: text('json', 'market settings that replace those of the concern'),
  'risk-mode': text('mode', 'the risk mode at the start; normal by default'),
  orders: text('file', 'write all orders to this file, as CSV'),
} satisfies OptionSpecs;

export const traderBacktestUsage = usage(
  'trader backtest',
  'run strategies over bars of the past, as fast as it can',
  {
    options: BACKTEST_OPTIONS,
    examples: [
      'trader backtest --synthetic --strategy trend_follower',
      `trader backtest --csv bars.csv --strategy grid_trader --params '{"levels": 8}'`,
      'trader backtest --synthetic --seed 7 --compare',
    ],
  },
);
