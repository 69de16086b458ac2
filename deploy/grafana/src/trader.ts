import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { board, choice, OF_PROFILE } from './board.ts';
import { curve, figure, type Meaning, states } from './panels.ts';

const OF_CONCERN = `${OF_PROFILE},concern=~"$concern"`;
const SET: Meaning = { 0: ['no', 'transparent'], 1: ['set', 'blue'] };
const DEGRADED: Meaning = { 0: ['ok', 'green'], 1: ['degraded', 'orange'] };
const WHOLE: Meaning = { 0: ['broken', 'red'], 1: ['whole', 'green'] };

/** What the trader was told to do, what became of it, and what it trades. */
export function trader(): Dashboard {
  return board({
    uid: 'trader',
    title: 'Trader',
    description: 'Control decisions, audit, positions and orders of a Hermes trader.',
    profilesOf: 'fleet_trader_audit_ok',
  })
    .withVariable(
      choice({
        name: 'concern',
        label: 'Concern',
        query: `label_values(fleet_trader_run_state{${OF_PROFILE}}, concern)`,
      }),
    )
    .withPanel(
      figure(1, {
        title: 'Run state',
        description: 'Whether the active strategy runs or is paused, as it was decided.',
        unit: 'short',
        span: 4,
        shows: 'name',
        queries: [{ expr: `fleet_trader_run_state{${OF_CONCERN}} == 1`, legend: '{{state}}' }],
      }),
    )
    .withPanel(
      figure(2, {
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
      figure(3, {
        title: 'Execution',
        description: 'Degraded: the feed is stale, or orders are rejected, or the strategy fails in a row.',
        unit: 'short',
        span: 4,
        meaning: DEGRADED,
        queries: [{ expr: `max(fleet_trader_execution_degraded{${OF_CONCERN}})`, legend: 'execution' }],
      }),
    )
    .withPanel(
      figure(4, {
        title: 'Audit',
        description: 'Whether the chain of the audit held, and has the head that was published of it.',
        unit: 'short',
        span: 4,
        meaning: WHOLE,
        queries: [{ expr: `min(fleet_trader_audit_ok{${OF_PROFILE}})`, legend: 'audit' }],
      }),
    )
    .withPanel(
      figure(5, {
        title: 'Audit records',
        description: 'Records in the audit, since its file was made.',
        unit: 'short',
        decimals: 0,
        span: 4,
        queries: [{ expr: `sum(fleet_trader_audit_records_total{${OF_PROFILE}})`, legend: 'records' }],
      }),
    )
    .withPanel(
      figure(6, {
        title: 'Decisions applied',
        description: 'Decisions that changed something in the time shown.',
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
      curve(11, {
        title: 'Decisions',
        description: 'Attempts per second, by action and what became of them; none: an unreadable payload.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (action, status) (rate(fleet_trader_decisions_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{action}}: {{status}}',
          },
        ],
      }),
    )
    .withPanel(
      curve(12, {
        title: 'Rejections',
        description: 'Reasons per second for which attempts were rejected or failed.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (code) (rate(fleet_trader_rejections_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{code}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Account').id(20))
    .withPanel(
      curve(21, {
        title: 'Position',
        description: 'What is held, in units of the base asset.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_trader_position{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withPanel(
      curve(22, {
        title: 'Equity',
        description: 'Cash and the position at the last close, in the quote asset.',
        unit: 'short',
        span: 12,
        floats: true,
        queries: [{ expr: `fleet_trader_equity{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withRow(new RowBuilder('Orders').id(30))
    .withPanel(
      curve(31, {
        title: 'Orders',
        description: 'Orders per second, by strategy and what became of them.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (strategy, kind) (rate(fleet_trader_orders_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{strategy}}: {{kind}}',
          },
        ],
      }),
    )
    .withPanel(
      curve(32, {
        title: 'Orders, total',
        description: 'Orders since the trader started, by strategy and what became of them.',
        unit: 'short',
        span: 12,
        queries: [
          {
            expr: `sum by (strategy, kind) (fleet_trader_orders_total{${OF_PROFILE}})`,
            legend: '{{strategy}}: {{kind}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('State').id(40))
    .withPanel(
      states(41, {
        title: 'Run state and risk mode',
        description: 'What was decided, over time.',
        unit: 'short',
        span: 12,
        meaning: SET,
        queries: [
          { expr: `fleet_trader_run_state{${OF_CONCERN}}`, legend: '{{concern}} {{state}}' },
          { expr: `fleet_trader_risk_mode{${OF_CONCERN}}`, legend: '{{concern}} {{mode}}' },
        ],
      }),
    )
    .withPanel(
      states(42, {
        title: 'Execution',
        description: 'When execution was degraded.',
        unit: 'short',
        span: 12,
        meaning: DEGRADED,
        queries: [{ expr: `fleet_trader_execution_degraded{${OF_CONCERN}}`, legend: '{{concern}}' }],
      }),
    )
    .withRow(new RowBuilder('Events').id(50))
    .withPanel(
      curve(51, {
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
      curve(52, {
        title: 'Audit records, rate',
        description: 'Records written per second.',
        unit: 'wps',
        span: 12,
        queries: [
          {
            expr: `sum by (profile) (rate(fleet_trader_audit_records_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{profile}}',
          },
        ],
      }),
    )
    .build();
}
