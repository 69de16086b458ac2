import {
  AnnotationQueryBuilder,
  type Dashboard,
  RowBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { labelVariable, newDashboard, OF_PROFILE } from './dashboard.ts';
import { DATASOURCE, stat, stateTimeline, timeSeries, type ValueLabels } from './panels.ts';
import { OF_CONCERN, withPerformance } from './trader-performance.ts';

const SET: ValueLabels = { 0: ['no', 'transparent'], 1: ['set', 'blue'] };
const DEGRADED: ValueLabels = { 0: ['ok', 'green'], 1: ['degraded', 'orange'] };
const INTACT: ValueLabels = { 0: ['broken', 'red'], 1: ['intact', 'green'] };

const marks = (name: string, color: string, expr: string, title: string): AnnotationQueryBuilder =>
  new AnnotationQueryBuilder()
    .name(name)
    .datasource(DATASOURCE)
    .enable(true)
    .iconColor(color)
    .expr(expr)
    .titleFormat(title);

/** Decisions, their outcomes, the audit, and the paper account. */
export function trader(): Dashboard {
  const board = newDashboard({
    uid: 'trader',
    title: 'Trader',
    description: 'Control decisions, audit, positions and orders of a Hermes trader.',
    profilesOf: 'fleet_trader_audit_ok',
  })
    .withVariable(
      labelVariable({
        name: 'concern',
        label: 'Concern',
        query: `label_values(fleet_trader_run_state{${OF_PROFILE}}, concern)`,
      }),
    )
    .annotation(
      marks(
        'Decisions',
        'orange',
        `sum by (action) (increase(fleet_trader_decisions_total{${OF_PROFILE},status="applied"}[$__rate_interval])) > 0`,
        '{{action}} applied',
      ),
    )
    .annotation(
      marks(
        'Fills',
        'green',
        `sum by (strategy) (increase(fleet_trader_orders_total{${OF_PROFILE},kind="filled"}[$__rate_interval])) > 0`,
        '{{strategy}} filled',
      ),
    )
    .withPanel(
      stat(1, {
        title: 'Run state',
        description: 'The decided run state of the active strategy: running or paused.',
        unit: 'short',
        span: 4,
        shows: 'name',
        queries: [{ expr: `fleet_trader_run_state{${OF_CONCERN}} == 1`, legend: '{{state}}' }],
      }),
    )
    .withPanel(
      stat(2, {
        title: 'Risk mode',
        description:
          'normal; cautious: half the size; reduce_only: positions only shrink; halted: cancels only.',
        unit: 'short',
        span: 4,
        shows: 'name',
        queries: [{ expr: `fleet_trader_risk_mode{${OF_CONCERN}} == 1`, legend: '{{mode}}' }],
      }),
    )
    .withPanel(
      stat(3, {
        title: 'Execution',
        description: 'Degraded: the feed is stale, orders are rejected, or the strategy fails repeatedly.',
        unit: 'short',
        span: 4,
        valueLabels: DEGRADED,
        queries: [{ expr: `max(fleet_trader_execution_degraded{${OF_CONCERN}})`, legend: 'execution' }],
      }),
    )
    .withPanel(
      stat(4, {
        title: 'Audit',
        description: 'Whether the audit chain is intact and contains its published head.',
        unit: 'short',
        span: 4,
        valueLabels: INTACT,
        queries: [{ expr: `min(fleet_trader_audit_ok{${OF_PROFILE}})`, legend: 'audit' }],
      }),
    )
    .withPanel(
      stat(5, {
        title: 'Audit records',
        description: 'Records in the audit file.',
        unit: 'short',
        decimals: 0,
        span: 4,
        queries: [{ expr: `sum(fleet_trader_audit_records_total{${OF_PROFILE}})`, legend: 'records' }],
      }),
    )
    .withPanel(
      stat(6, {
        title: 'Decisions applied',
        description: 'Decisions that changed something in the selected time range.',
        unit: 'short',
        decimals: 0,
        span: 4,
        queries: [
          {
            expr: `sum(increase(fleet_trader_decisions_total{${OF_PROFILE},status="applied"}[$__range]))`,
            legend: 'applied',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Decisions').id(10))
    .withPanel(
      timeSeries(11, {
        title: 'Decisions',
        description: 'Attempts per second by action and status; action none: an unreadable payload.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (action, status) (rate(fleet_trader_decisions_total{${OF_PROFILE}}[$__rate_interval])) > 0`,
            legend: '{{action}}: {{status}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(12, {
        title: 'Rejections',
        description: 'Reasons of rejected or failed attempts, per second.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (code) (rate(fleet_trader_rejections_total{${OF_PROFILE}}[$__rate_interval])) > 0`,
            legend: '{{code}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Account').id(20))
    .withPanel(
      timeSeries(21, {
        title: 'Position',
        description: 'Position in units of the base asset.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_trader_position{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withPanel(
      timeSeries(22, {
        title: 'Equity',
        description: 'Cash and the position at the last close, in the quote asset.',
        unit: 'short',
        span: 12,
        fromZero: false,
        queries: [{ expr: `fleet_trader_equity{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    );
  return withPerformance(board)
    .withRow(new RowBuilder('Orders').id(30))
    .withPanel(
      timeSeries(31, {
        title: 'Orders',
        description: 'Orders per second by strategy and outcome.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (strategy, kind) (rate(fleet_trader_orders_total{${OF_PROFILE}}[$__rate_interval])) > 0`,
            legend: '{{strategy}}: {{kind}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(32, {
        title: 'Orders, total',
        description: 'Orders since the trader started, by strategy and outcome.',
        unit: 'short',
        span: 12,
        queries: [
          {
            expr: `sum by (strategy, kind) (fleet_trader_orders_total{${OF_PROFILE}}) > 0`,
            legend: '{{strategy}}: {{kind}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('State').id(40))
    .withPanel(
      stateTimeline(41, {
        title: 'Run state and risk mode',
        description: 'Decided run state and risk mode over time.',
        unit: 'short',
        span: 12,
        valueLabels: SET,
        queries: [
          { expr: `fleet_trader_run_state{${OF_CONCERN}}`, legend: '{{concern}} {{state}}' },
          { expr: `fleet_trader_risk_mode{${OF_CONCERN}}`, legend: '{{concern}} {{mode}}' },
        ],
      }),
    )
    .withPanel(
      stateTimeline(42, {
        title: 'Execution',
        description: 'Degraded execution over time.',
        unit: 'short',
        span: 12,
        valueLabels: DEGRADED,
        queries: [{ expr: `fleet_trader_execution_degraded{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withRow(new RowBuilder('Events').id(50))
    .withPanel(
      timeSeries(51, {
        title: 'Events waiting for the bus',
        description: 'Control and task events of the trader that NATS has not acknowledged yet.',
        unit: 'short',
        span: 12,
        queries: [
          {
            expr: `fleet_outbox_backlog{${OF_PROFILE}} and on (profile) fleet_trader_audit_ok`,
            legend: '{{profile}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(52, {
        title: 'Audit records, rate',
        description: 'Records written per second.',
        unit: 'wps',
        span: 12,
        queries: [
          {
            expr: `sum by (profile) (rate(fleet_trader_audit_records_total{${OF_PROFILE}}[$__rate_interval])) > 0`,
            legend: '{{profile}}',
          },
        ],
      }),
    )
    .build();
}
