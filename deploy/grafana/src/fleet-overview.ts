import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { newDashboard, OF_PROFILE } from './dashboard.ts';
import { rateOf } from './expressions.ts';
import { stat, stateTimeline, timeSeries, UP } from './panels.ts';

/** The board of tokens spent and tasks refused, by what entered the fleet, and of members that are up. */
export function fleetOverview(): Dashboard {
  return newDashboard({
    uid: 'fleet-overview',
    title: 'Overview',
    description: 'Tokens spent and tasks blocked in a Hermes fleet, by what entered it, and its members.',
    profilesOf: 'fleet_task_admissions_total',
  })
    .withPanel(
      stat(1, {
        title: 'Tokens spent',
        description:
          'Input and output tokens in the selected time range. Delegated tokens count at the profile that spent them.',
        unit: 'short',
        decimals: 0,
        span: 5,
        queries: [
          { expr: `sum(increase(fleet_tokens_spent_total{${OF_PROFILE}}[$__range]))`, legend: 'tokens' },
        ],
      }),
    )
    .withPanel(
      stat(2, {
        title: 'Blocked share',
        description:
          'Share of the tasks that ended in the selected time range that were blocked. A task counts once, at the profile where it entered.',
        unit: 'percentunit',
        decimals: 1,
        span: 5,
        queries: [
          {
            expr: `sum(increase(fleet_task_admissions_total{${OF_PROFILE},decision="blocked"}[$__range])) / (sum(increase(fleet_task_admissions_total{${OF_PROFILE}}[$__range])) > 0)`,
            legend: 'blocked',
          },
        ],
      }),
    )
    .withPanel(
      stat(3, {
        title: 'Tokens saved',
        description:
          'Budgets, or estimates for tasks without one, of the tasks that ended blocked in the selected time range, and spent no token.',
        unit: 'short',
        decimals: 0,
        span: 5,
        queries: [
          { expr: `sum(increase(fleet_tokens_saved_total{${OF_PROFILE}}[$__range]))`, legend: 'tokens' },
        ],
      }),
    )
    .withPanel(
      stat(4, {
        title: 'Tasks running',
        description: 'Tasks that hold an executor slot.',
        unit: 'short',
        decimals: 0,
        span: 5,
        queries: [{ expr: `sum(fleet_tasks_in_flight{${OF_PROFILE}})`, legend: 'running' }],
      }),
    )
    .withPanel(
      stat(5, {
        title: 'Alerts firing',
        description:
          'Alerts that fire now, of every profile. Prometheus names them, and docs/runbook.md says what to do.',
        unit: 'short',
        decimals: 0,
        span: 4,
        queries: [{ expr: 'count(ALERTS{alertstate="firing"}) or vector(0)', legend: 'alerts' }],
      }),
    )
    .withRow(new RowBuilder('Tokens').id(10))
    .withPanel(
      timeSeries(11, {
        title: 'Tokens spent, rate',
        description: 'Tokens per second by profile and model tier, over five minutes (recording rule).',
        unit: 'short',
        span: 8,
        queries: [
          { expr: `fleet:tokens_spent:rate5m{${OF_PROFILE}} > 0`, legend: '{{profile}} ({{model_tier}})' },
        ],
      }),
    )
    .withPanel(
      timeSeries(13, {
        title: 'Tokens spent by caller',
        description:
          'Tokens per second by the caller whose task spent them. The caller of a relayed task is the profile that sent it.',
        unit: 'short',
        span: 8,
        queries: [{ expr: rateOf('fleet_tokens_spent_total', 'caller'), legend: '{{caller}}' }],
      }),
    )
    .withPanel(
      timeSeries(14, {
        title: 'Spending of the day',
        description:
          'Tokens of the current UTC day, what unfinished tasks may still spend, and the ceilings, by profile, scope and caller.',
        unit: 'short',
        span: 8,
        queries: [
          {
            expr: `fleet_spending_spent_tokens{${OF_PROFILE}} > 0`,
            legend: '{{profile}} {{scope}} {{caller}}',
          },
          {
            expr: `fleet_spending_reserved_tokens{${OF_PROFILE}} > 0`,
            legend: '{{profile}} {{scope}} {{caller}}, reserved',
          },
          {
            expr: `fleet_spending_ceiling_tokens{${OF_PROFILE}}`,
            legend: '{{profile}} {{scope}} {{caller}}, ceiling',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Blocked').id(20))
    .withPanel(
      timeSeries(21, {
        title: 'Blocked share by reason',
        description:
          'Share of the tasks that entered at the profile, over five minutes (recording rule); empty without tasks.',
        unit: 'percentunit',
        span: 8,
        queries: [
          { expr: `fleet:blocked:ratio_rate5m{${OF_PROFILE}} > 0`, legend: '{{profile}}: {{reason}}' },
        ],
      }),
    )
    .withPanel(
      timeSeries(24, {
        title: 'Blocked share against the objective',
        description:
          'Share of the tasks that entered at the profile, for whatever reason, over an hour (recording rule). At most 5% should end blocked.',
        unit: 'percentunit',
        span: 8,
        threshold: 0.05,
        queries: [{ expr: `fleet:blocked_share:ratio_rate1h{${OF_PROFILE}}`, legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(22, {
        title: 'Admissions',
        description:
          'Ended tasks per second, each where it entered: accepted, or blocked with the first reason.',
        unit: 'ops',
        span: 8,
        queries: [
          {
            expr: rateOf('fleet_task_admissions_total', 'decision, reason'),
            legend: '{{decision}}: {{reason}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Members').id(30))
    .withPanel(
      stateTimeline(31, {
        title: 'Services',
        description: 'Whether Prometheus could read the metrics of each member.',
        unit: 'short',
        span: 24,
        valueLabels: UP,
        queries: [{ expr: `up{job="fleet",${OF_PROFILE}}`, legend: '{{profile}}' }],
      }),
    )
    .build();
}
