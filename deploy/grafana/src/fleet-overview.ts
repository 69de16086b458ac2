import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { board, OF_PROFILE } from './board.ts';
import { curve, figure } from './panels.ts';

const durations = (quantile: number): string =>
  `histogram_quantile(${quantile}, sum by (le, profile) (rate(fleet_task_duration_seconds_bucket{${OF_PROFILE}}[$__rate_interval])))`;

/** The first dashboard: what the fleet spends, what it blocks, how long it takes, and who is there. */
export function fleetOverview(): Dashboard {
  return board({
    uid: 'fleet-overview',
    title: 'Fleet overview',
    description: 'Tokens, blocked work, latency, peers and the outbox of a Hermes fleet.',
    profilesOf: 'fleet_task_admissions_total',
  })
    .withPanel(
      figure(1, {
        title: 'Tokens spent',
        description:
          'Input and output tokens in the time shown, by own metering: what a profile delegated counts where it ran.',
        unit: 'short',
        decimals: 0,
        span: 6,
        queries: [
          { expr: `sum(increase(fleet_tokens_spent_total{${OF_PROFILE}}[$__range]))`, legend: 'tokens' },
        ],
      }),
    )
    .withPanel(
      figure(2, {
        title: 'Blocked share',
        description:
          'Share of the tasks in the time shown that were refused before a token was spent on them.',
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
      figure(3, {
        title: 'Tokens saved',
        description:
          'Budgets, or estimates where there was none, of the tasks that were blocked in the time shown.',
        unit: 'short',
        decimals: 0,
        span: 6,
        queries: [
          { expr: `sum(increase(fleet_tokens_saved_total{${OF_PROFILE}}[$__range]))`, legend: 'tokens' },
        ],
      }),
    )
    .withPanel(
      figure(4, {
        title: 'Tasks running',
        description: 'Tasks that hold an executor slot now.',
        unit: 'short',
        decimals: 0,
        span: 6,
        queries: [{ expr: `sum(fleet_tasks_in_flight{${OF_PROFILE}})`, legend: 'running' }],
      }),
    )
    .withRow(new RowBuilder('Tokens').id(10))
    .withPanel(
      curve(11, {
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
      curve(12, {
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
      curve(21, {
        title: 'Blocked share by reason',
        description:
          'Share of all tasks that asked to be admitted, over five minutes (recording rule); empty while none asks.',
        unit: 'percentunit',
        span: 12,
        queries: [
          { expr: `fleet:blocked:ratio_rate5m{${OF_PROFILE}} > 0`, legend: '{{profile}}: {{reason}}' },
        ],
      }),
    )
    .withPanel(
      curve(22, {
        title: 'Admissions',
        description: 'Decisions per second: accepted, or blocked with the first reason.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (decision, reason) (rate(fleet_task_admissions_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{decision}}: {{reason}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Latency').id(30))
    .withPanel(
      curve(31, {
        title: 'Task duration',
        description:
          'From the receipt of a task to its result: half of the tasks, and all but one in twenty, are faster.',
        unit: 's',
        span: 12,
        queries: [
          { expr: durations(0.5), legend: '{{profile}} p50' },
          { expr: durations(0.95), legend: '{{profile}} p95' },
        ],
      }),
    )
    .withPanel(
      curve(32, {
        title: 'Tasks ended',
        description: 'Tasks per second by how they ended.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: `sum by (profile, status) (rate(fleet_tasks_total{${OF_PROFILE}}[$__rate_interval]))`,
            legend: '{{profile}} {{status}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Peers and MCP servers').id(40))
    .withPanel(
      curve(41, {
        title: 'Since a peer announced itself',
        description:
          'Age of the newest announce that a profile holds of each peer; above 90 s the peer is stale and gets no work.',
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
      curve(42, {
        title: 'MCP servers up',
        description: '1 when the server answered its last probe, else 0.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_mcp_server_up{${OF_PROFILE}}`, legend: '{{server}} at {{profile}}' }],
      }),
    )
    .withRow(new RowBuilder('Outbox').id(50))
    .withPanel(
      curve(51, {
        title: 'Events waiting for the bus',
        description: 'Events in the ledger that NATS has not acknowledged yet.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_outbox_backlog{${OF_PROFILE}}`, legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      curve(52, {
        title: 'Age of the oldest waiting event',
        description: 'How far the bus is behind the ledger.',
        unit: 's',
        span: 12,
        queries: [{ expr: `fleet_outbox_oldest_age_seconds{${OF_PROFILE}}`, legend: '{{profile}}' }],
      }),
    )
    .build();
}
