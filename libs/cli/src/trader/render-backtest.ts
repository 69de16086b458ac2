import type { JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import { columns } from '../command-line/output.ts';

const PLACES = 2;

/** Lines for the report of a backtest of one strategy. */
export function renderBacktest(report: JsonObject): string[] {
  return objectsAt(report, 'runs').flatMap((run) => {
    const orders = objectAt(run, 'orders');
    const errors = objectAt(run, 'strategy_errors');
    const end = objectAt(run, 'end');
    return [
      `${textAt(objectAt(run, 'strategy'), 'id')} over ${periodOf(run)}, ${sourceOf(report)}`,
      line('params', paramsOf(run)),
      line(
        'equity',
        `${amount(run, 'opening_equity')} -> ${amount(run, 'equity')}, ${percent(run, 'return')} (price ${percent(run, 'price_change')})`,
      ),
      line('drawdown', `${percent(run, 'max_drawdown')} at most, ${percent(run, 'drawdown')} at the end`),
      line('ratios', `Sharpe ${number(run, 'sharpe')}, Sortino ${number(run, 'sortino')}`),
      line(
        'exposure',
        `${percent(run, 'exposure')} of the equity on average, ${textAt(run, 'position')} at the end`,
      ),
      line(
        'orders',
        `${textAt(orders, 'placed')} placed, ${textAt(orders, 'filled')} filled, ${textAt(orders, 'canceled')} canceled, ${textAt(orders, 'rejected')} rejected, ${textAt(orders, 'open')} open`,
      ),
      line(
        'sales',
        `${textAt(run, 'sales')}, ${percent(run, 'win_rate')} with a profit, profit factor ${number(run, 'profit_factor')}`,
      ),
      line('profit', `realized ${amount(run, 'realized_profit')}, less fees ${amount(run, 'fees')}`),
      ...(textAt(errors, 'bars') === '0'
        ? []
        : [line('errors', `at ${textAt(errors, 'bars')} bars, the first: ${textAt(errors, 'first')}`)]),
      line(
        'state',
        `${textAt(end, 'active_strategy_id')}, ${textAt(end, 'run_state')}, risk mode ${textAt(end, 'risk_mode')}`,
      ),
      ...decisionsOf(run),
    ];
  });
}

/** A table with one row per strategy. */
export function renderComparison(report: JsonObject): string[] {
  const runs = objectsAt(report, 'runs');
  const [first] = runs;
  if (first === undefined) return ['no strategy ran'];
  const head = [
    'strategy',
    'return',
    'drawdown',
    'Sharpe',
    'Sortino',
    'wins',
    'factor',
    'exposure',
    'fills',
    'rejects',
    'fees',
  ];
  const rows = runs.map((run) => [
    textAt(objectAt(run, 'strategy'), 'id'),
    percent(run, 'return'),
    percent(run, 'max_drawdown'),
    number(run, 'sharpe'),
    number(run, 'sortino'),
    percent(run, 'win_rate'),
    number(run, 'profit_factor'),
    percent(run, 'exposure'),
    textAt(run, 'fills'),
    textAt(objectAt(run, 'orders'), 'rejected'),
    amount(run, 'fees'),
  ]);
  return [
    `${periodOf(first)}, ${sourceOf(report)}; price ${percent(first, 'price_change')}`,
    ...columns(head, rows),
  ];
}

function decisionsOf(run: JsonObject): string[] {
  const decisions = objectsAt(run, 'decisions');
  if (decisions.length === 0) return [];
  const rows = decisions.map((each) => {
    const response = objectAt(each, 'response');
    const codes = objectsAt(response, 'errors').map((error) => textAt(error, 'code'));
    return [
      textAt(each, 'bar'),
      textAt(response, 'action'),
      [textAt(response, 'status'), ...codes].join(' '),
      textAt(response, 'to_strategy_id'),
      textAt(response, 'decision_id'),
    ];
  });
  const table = columns(['after bar', 'action', 'answer', 'active', 'decision'], rows);
  return [line('decisions', String(decisions.length)), ...table.map((row) => `    ${row}`)];
}

const line = (name: string, value: string): string => `  ${name.padEnd(10)} ${value}`;

function periodOf(run: JsonObject): string {
  const bars = typeof run.bars === 'number' ? run.bars.toLocaleString('en') : '-';
  return `${bars} bars, ${textAt(run, 'first_at')} to ${textAt(run, 'last_at')}`;
}

function sourceOf(report: JsonObject): string {
  const source = objectAt(report, 'source');
  return source.kind === 'csv' ? textAt(source, 'file') : `synthetic, seed ${textAt(source, 'seed')}`;
}

const paramsOf = (run: JsonObject): string =>
  Object.entries(objectAt(objectAt(run, 'strategy'), 'params'))
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');

const number = (of: JsonObject, key: string): string => {
  const value = of[key];
  return typeof value === 'number' ? value.toFixed(PLACES) : '-';
};

const percent = (of: JsonObject, key: string): string => {
  const value = of[key];
  return typeof value === 'number' ? `${(value * 100).toFixed(PLACES)} %` : '-';
};

/** An amount, cut to two places. */
const amount = (of: JsonObject, key: string): string =>
  textAt(of, key).replace(/^(-?\d+(?:\.\d{1,2})?)\d*$/, '$1');
