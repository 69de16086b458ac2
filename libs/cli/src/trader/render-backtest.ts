import type { Answer, BacktestReport } from '@hermes-fleet/protocol/api';
import { columns, line, shown } from '../command-line/output.ts';
import { indented, percent, ratio } from './render.ts';

type Report = Answer<typeof BacktestReport>;
type Run = Report['runs'][number];

/** Lines for the report of a backtest of one strategy. */
export function renderBacktest(report: Report): string[] {
  return report.runs.flatMap((run) => {
    const { strategy, orders, strategy_errors: errors, end } = run;
    return [
      `${strategy.id} over ${periodOf(run)}, ${sourceOf(report)}`,
      line(
        'params',
        Object.entries(strategy.params)
          .map(([name, value]) => `${name} ${String(value)}`)
          .join(', '),
      ),
      line(
        'equity',
        `${cut(run.opening_equity)} -> ${cut(run.equity)}, ${percent(run.return)} (price ${percent(run.price_change)})`,
      ),
      line('drawdown', `${percent(run.max_drawdown)} at most, ${percent(run.drawdown)} at the end`),
      line('ratios', `Sharpe ${ratio(run.sharpe)}, Sortino ${ratio(run.sortino)}`),
      line('exposure', `${percent(run.exposure)} of the equity on average, ${run.position} at the end`),
      line(
        'orders',
        `${orders.placed} placed, ${orders.filled} filled, ${orders.canceled} canceled, ${orders.rejected} rejected, ${orders.open} open`,
      ),
      line(
        'sales',
        `${run.sales}, ${percent(run.win_rate)} with a profit, profit factor ${ratio(run.profit_factor)}`,
      ),
      line('profit', `realized ${cut(run.realized_profit)}, less fees ${cut(run.fees)}`),
      ...(errors.bars === 0
        ? []
        : [line('errors', `at ${errors.bars} bars, the first: ${shown(errors.first)}`)]),
      line('state', `${shown(end.active_strategy_id)}, ${end.run_state}, risk mode ${end.risk_mode}`),
      ...decisionsOf(run),
    ];
  });
}

/** A table with one row per strategy. */
export function renderComparison(report: Report): string[] {
  const [first] = report.runs;
  if (first === undefined) return ['no strategy ran'];
  const head = [
    ...['strategy', 'return', 'drawdown', 'Sharpe', 'Sortino', 'wins', 'factor', 'exposure', 'fills'],
    ...['rejects', 'fees'],
  ];
  const rows = report.runs.map((run) => [
    ...[run.strategy.id, percent(run.return), percent(run.max_drawdown), ratio(run.sharpe)],
    ...[ratio(run.sortino), percent(run.win_rate), ratio(run.profit_factor), percent(run.exposure)],
    ...[run.fills, run.orders.rejected, cut(run.fees)],
  ]);
  return [
    `${periodOf(first)}, ${sourceOf(report)}; price ${percent(first.price_change)}`,
    ...columns(head, rows),
  ];
}

function decisionsOf({ decisions }: Run): string[] {
  if (decisions.length === 0) return [];
  const rows = decisions.map(({ bar, response }) => [
    ...[bar, response.action, [response.status, ...response.errors.map(({ code }) => code)].join(' ')],
    ...[response.to_strategy_id, response.decision_id],
  ]);
  const head = ['after bar', 'action', 'answer', 'active', 'decision'];
  return [line('decisions', String(decisions.length)), ...indented(columns(head, rows))];
}

const periodOf = ({ bars, first_at, last_at }: Run): string =>
  `${bars.toLocaleString('en')} bars, ${shown(first_at)} to ${shown(last_at)}`;

const sourceOf = ({ source }: Report): string =>
  source.kind === 'csv' ? source.file : `synthetic, seed ${source.seed}`;

/** An amount, cut to two places. */
const cut = (amount: string): string => amount.replace(/^(-?\d+(?:\.\d{1,2})?)\d*$/, '$1');
