import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { newDashboard, OF_PROFILE } from './dashboard.ts';
import { stat, timeSeries } from './panels.ts';

const durations = (quantile: number, family: 'duration' | 'turnaround'): string =>
  `histogram_quantile(${quantile}, sum by (le, profile) (rate(fleet_task_${family}_seconds_bucket{${OF_PROFILE}}[$__rate_interval])))`;

/** Tokens, blocked tasks, latency, peers and the outbox. */
export function fleetOverview(): Dashboard {
  return newDashboard({
    uid: 'fleet-overview',
    title: 'Fleet overview',
    description: 'Tokens, blocked work, latency, peers and the outbox of a Hermes fleet.',
    profilesOf: 'fleet_task_admissions_total',
  })
    .withPanel(
      stat(1, {
        title: 'Tokens spent',
        description:
          'Input and output tokens in the selected time range. Delegated tokens count at the profile that spent them.',
        unit: 'short',
        decimals: 0,
        span: 6,
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
        span: 6,
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
        span: 6,
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
        span: 6,
        queries: [{ expr: `sum(fleet_tasks_in_flight{${OF_PROFILE}})`, legend: 'running' }],
      }),
    )
    .withRow(new RowBuilder('Tokens').id(10))
    .withPanel(
      timeSeries(11, {
        title: 'Tokens spent, rate',
        description: 'Tokens per second by profile and model tier, over five minutes (recording rule).',
        unit: 'short',
        span: 12,
        queries: [
          { expr: `fleet:tokens_spent:rate5m{${OF_PROFILE}}`, legend: '{{profile}} ({{model_tier}})' },
        ],
      }),
    )
    .withPanel(
      timeSeries(12, {
        title: 'Tokens spent, total',
        description: 'Tokens since each profile started, by direction.',
        unit: 'short',
        span: 12,
        queries: [
          {
            expr: `sum by (profile, type) (fleet_tokens_spent_total{${OF_PROFILE}})`,
            legend: '{{profile}} {{type}}',
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
      timeSeries(22, {
        title: 'Admissions',
        description:
          'Ended tasks per second, each where it entered: accepted, or blocked with the first reason.',
        unit: 'ops',
        span: 8,
        queries: [
          {
            expr: `sum by (decision, reason) (rate(fleet_task_admissions_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{decision}}: {{reason}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(23, {
        title: 'Refusals between peers',
        description:
          'Tasks per second that a peer sent on and the profile refused, by the first reason. A task may be refused by several peers, and still be done.',
        unit: 'ops',
        span: 8,
        queries: [
          {
            expr: `sum by (profile, kind) (rate(fleet_peer_refusals_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{profile}}: {{kind}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Latency').id(30))
    .withPanel(
      timeSeries(31, {
        title: 'Task duration',
        description:
          'Time from the start of a run to its result, without tasks that never ran: median and 95th percentile.',
        unit: 's',
        span: 8,
        queries: [
          { expr: durations(0.5, 'duration'), legend: '{{profile}} p50' },
          { expr: durations(0.95, 'duration'), legend: '{{profile}} p95' },
        ],
      }),
    )
    .withPanel(
      timeSeries(33, {
        title: 'Task turnaround',
        description:
          'Time from the arrival of a dispatch to the result of its task, with its waits, without tasks that never ran: median and 95th percentile.',
        unit: 's',
        span: 8,
        queries: [
          { expr: durations(0.5, 'turnaround'), legend: '{{profile}} p50' },
          { expr: durations(0.95, 'turnaround'), legend: '{{profile}} p95' },
        ],
      }),
    )
    .withPanel(
      timeSeries(32, {
        title: 'Tasks ended',
        description: 'Tasks per second by status.',
        unit: 'ops',
        span: 8,
        queries: [
          {
            expr: `sum by (profile, status) (rate(fleet_tasks_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{profile}} {{status}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Peers, models and MCP servers').id(40))
    .withPanel(
      timeSeries(41, {
        title: 'Time since the last announce',
        description:
          'Age of the latest announce of each peer, by profile. Above 90 s the peer is stale and gets no tasks.',
        unit: 's',
        span: 12,
        queries: [
          {
            expr: `time() - (fleet_peer_last_announce_timestamp_seconds{${OF_PROFILE}} > 0)`,
            legend: '{{peer}} at {{profile}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(43, {
        title: 'Models healthy',
        description: '1 while the model of the profile can be called, else 0: such a profile gets no tasks.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_model_healthy{${OF_PROFILE}}`, legend: '{{model}} at {{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(42, {
        title: 'MCP servers up',
        description: '1 if the server answered its last probe, else 0.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_mcp_server_up{${OF_PROFILE}}`, legend: '{{server}} at {{profile}}' }],
      }),
    )
    .withRow(new RowBuilder('Outbox').id(50))
    .withPanel(
      timeSeries(51, {
        title: 'Events waiting for the bus',
        description: 'Events in the ledger that NATS has not acknowledged yet.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_outbox_backlog{${OF_PROFILE}}`, legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(52, {
        title: 'Age of the oldest waiting event',
        description: 'How far the bus lags behind the ledger.',
        unit: 's',
        span: 12,
        queries: [{ expr: `fleet_outbox_oldest_age_seconds{${OF_PROFILE}}`, legend: '{{profile}}' }],
      }),
    )
    .build();
}
