import { type DashboardBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { OF_PROFILE } from './dashboard.ts';
import { stat, timeSeries } from './panels.ts';

/** Label matcher for the concerns selected on the dashboard. */
export const OF_CONCERN = `${OF_PROFILE},concern=~"$concern"`;

const figure = (id: number, title: string, family: string, unit: string, description: string) =>
  stat(id, {
    title,
    description,
    unit,
    decimals: unit === 'percentunit' ? 1 : 2,
    span: 4,
    queries: [{ expr: `${family}{${OF_CONCERN}}`, legend: '{{concern}}' }],
  });

/** Price, drawdown and the performance of the paper account (docs/trader.md#performance). */
export const withPerformance = (board: DashboardBuilder): DashboardBuilder =>
  board
    .withPanel(
      timeSeries(23, {
        title: 'Price',
        description: 'The last close. Lines mark applied decisions and fills.',
        unit: 'short',
        span: 12,
        fromZero: false,
        queries: [{ expr: `fleet_trader_price{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withPanel(
      timeSeries(24, {
        title: 'Drawdown',
        description: 'The part of the highest equity that is missing.',
        unit: 'percentunit',
        span: 12,
        queries: [{ expr: `fleet_trader_drawdown{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withRow(new RowBuilder('Performance').id(60))
    .withPanel(
      figure(61, 'Return', 'fleet_trader_return', 'percentunit', 'Return since the account was opened.'),
    )
    .withPanel(
      figure(
        62,
        'Largest drawdown',
        'fleet_trader_max_drawdown',
        'percentunit',
        'Largest part of the highest equity that was missing at a close.',
      ),
    )
    .withPanel(
      figure(
        63,
        'Sharpe',
        'fleet_trader_sharpe',
        'short',
        'Mean return of a bar by its deviation, annualized.',
      ),
    )
    .withPanel(
      figure(
        64,
        'Sortino',
        'fleet_trader_sortino',
        'short',
        'Mean return of a bar by the deviation of losses, annualized.',
      ),
    )
    .withPanel(
      figure(
        65,
        'Win rate',
        'fleet_trader_win_rate',
        'percentunit',
        'Part of the sales with a profit after fees.',
      ),
    )
    .withPanel(
      figure(
        66,
        'Profit factor',
        'fleet_trader_profit_factor',
        'short',
        'Net profits of sales by their net losses.',
      ),
    )
    .withPanel(
      timeSeries(67, {
        title: 'Profit by strategy',
        description: 'Change of the equity while the strategy was active, in the quote asset.',
        unit: 'short',
        span: 12,
        queries: [
          { expr: `fleet_trader_strategy_profit{${OF_CONCERN}}`, legend: '{{concern}} {{strategy}}' },
        ],
      }),
    )
    .withPanel(
      timeSeries(71, {
        title: 'Return and drawdown by strategy',
        description: 'Return and largest drawdown while the strategy was active.',
        unit: 'percentunit',
        span: 12,
        fromZero: false,
        queries: [
          { expr: `fleet_trader_strategy_return{${OF_CONCERN}}`, legend: '{{concern}} {{strategy}} return' },
          {
            expr: `fleet_trader_strategy_max_drawdown{${OF_CONCERN}}`,
            legend: '{{concern}} {{strategy}} drawdown',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(68, {
        title: 'Realized profit and fees',
        description: 'Realized profit without fees, and fees, in the quote asset.',
        unit: 'short',
        span: 12,
        queries: [
          { expr: `fleet_trader_realized_profit{${OF_CONCERN}}`, legend: '{{concern}} profit' },
          { expr: `fleet_trader_fees{${OF_CONCERN}}`, legend: '{{concern}} fees' },
        ],
      }),
    )
    .withPanel(
      timeSeries(69, {
        title: 'Exposure',
        description: 'Mean part of the equity in position since the account was opened.',
        unit: 'percentunit',
        span: 12,
        queries: [{ expr: `fleet_trader_exposure{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withPanel(
      stat(72, {
        title: 'Circuit breaker',
        description: 'Tripped: the decision in force is that of a circuit breaker.',
        unit: 'short',
        span: 12,
        valueLabels: { 0: ['ok', 'green'], 1: ['tripped', 'orange'] },
        queries: [{ expr: `max(fleet_trader_breaker_tripped{${OF_CONCERN}})`, legend: 'breaker' }],
      }),
    )
    .withPanel(
      timeSeries(70, {
        title: 'Circuit breakers',
        description: 'Trips by breaker in the selected time range.',
        unit: 'short',
        span: 12,
        queries: [
          {
            expr: `sum by (concern, breaker) (increase(fleet_trader_breaker_trips_total{${OF_CONCERN}}[$__range]))`,
            legend: '{{concern}} {{breaker}}',
          },
        ],
      }),
    );
