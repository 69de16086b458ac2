import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { newDashboard, OF_PROFILE } from './dashboard.ts';
import { quantileOf, rateOf } from './expressions.ts';
import { stat, stateTimeline, timeSeries, UP, type ValueLabels } from './panels.ts';

const DEPENDENCY: ValueLabels = { 0: ['not ok', 'red'], 1: ['ok', 'green'] };

/** The board of what processes need: bus, ledger, disk, memory, event loop and HTTP. */
export function operations(): Dashboard {
  return newDashboard({
    uid: 'fleet-operations',
    title: 'Operations',
    description: 'Outbox, ledger, disk, memory, event loop and HTTP of the processes of a Hermes fleet.',
    profilesOf: 'process_start_time_seconds',
  })
    .withPanel(
      stateTimeline(1, {
        title: 'Dependencies',
        description: 'What /ready reports of each dependency.',
        unit: 'short',
        span: 24,
        valueLabels: DEPENDENCY,
        queries: [{ expr: `fleet_dependency_up{${OF_PROFILE}}`, legend: '{{profile}} {{dependency}}' }],
      }),
    )
    .withRow(new RowBuilder('Events').id(10))
    .withPanel(
      timeSeries(11, {
        title: 'Events waiting for the bus',
        description:
          'Events in the ledger that NATS has not acknowledged yet, and those that it lost (fleet nats refill).',
        unit: 'short',
        span: 6,
        queries: [
          { expr: `fleet_outbox_backlog{${OF_PROFILE}} > 0`, legend: '{{profile}}' },
          { expr: `fleet_outbox_missing_events{${OF_PROFILE}} > 0`, legend: '{{profile}}, lost by NATS' },
        ],
      }),
    )
    .withPanel(
      timeSeries(12, {
        title: 'Age of the oldest waiting event',
        description: 'How far the bus lags behind the ledger. The alert OutboxBehind fires above a minute.',
        unit: 's',
        span: 6,
        threshold: 60,
        queries: [{ expr: `fleet_outbox_oldest_age_seconds{${OF_PROFILE}} > 0`, legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(13, {
        title: 'Events published',
        description: 'Attempts to publish an event per second, by result.',
        unit: 'ops',
        span: 6,
        queries: [
          {
            expr: rateOf('fleet_events_published_total', 'profile, result'),
            legend: '{{profile}} {{result}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(14, {
        title: 'Push notifications',
        description: 'Attempts to deliver a push notification per second, by result.',
        unit: 'ops',
        span: 6,
        queries: [
          { expr: rateOf('fleet_push_attempts_total', 'profile, result'), legend: '{{profile}} {{result}}' },
        ],
      }),
    )
    .withRow(new RowBuilder('Ledger and disk').id(20))
    .withPanel(
      timeSeries(21, {
        title: 'Ledger',
        description: 'Size of the ledger, with its write-ahead log.',
        unit: 'bytes',
        span: 12,
        queries: [{ expr: `fleet_ledger_size_bytes{${OF_PROFILE}}`, legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(22, {
        title: 'Free disk',
        description: 'Free share of the disk that holds the ledger. The alert DiskFilling fires below 5%.',
        unit: 'percentunit',
        span: 12,
        threshold: 0.05,
        queries: [
          {
            expr: `fleet_disk_free_bytes{${OF_PROFILE}} / (fleet_disk_size_bytes{${OF_PROFILE}} > 0)`,
            legend: '{{profile}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(23, {
        title: 'Certificates',
        description:
          'Time until each is due for renewal, and until it expires. The alert CertificateExpiring fires below zero of the first.',
        unit: 's',
        span: 24,
        queries: [
          {
            expr: `fleet_certificate_renew_by_timestamp_seconds{${OF_PROFILE}} - time()`,
            legend: '{{profile}} {{use}}, renewal',
          },
          {
            expr: `fleet_certificate_expiry_timestamp_seconds{${OF_PROFILE}} - time()`,
            legend: '{{profile}} {{use}}, end',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Processes').id(30))
    .withPanel(
      stat(34, {
        title: 'Code that runs',
        description:
          'Versions and revisions of the selected members. More than one: a deploy is under way, or was not finished.',
        unit: 'short',
        span: 24,
        shows: 'name',
        queries: [
          {
            expr: `count by (version, revision) (fleet_build_info{${OF_PROFILE}})`,
            legend: '{{version}}, revision {{revision}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(31, {
        title: 'Event loop delay',
        description:
          '99th percentile of the delay of the event loop, without the 0.1 s between two measurements.',
        unit: 's',
        span: 8,
        queries: [
          {
            expr: `clamp_min(nodejs_eventloop_lag_p99_seconds{${OF_PROFILE}} - 0.1, 0)`,
            legend: '{{profile}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(32, {
        title: 'Memory',
        description: 'Resident memory, and what of the heap is used.',
        unit: 'bytes',
        span: 8,
        queries: [
          { expr: `process_resident_memory_bytes{${OF_PROFILE}}`, legend: '{{profile}}' },
          { expr: `nodejs_heap_size_used_bytes{${OF_PROFILE}}`, legend: '{{profile}} heap' },
        ],
      }),
    )
    .withPanel(
      timeSeries(33, {
        title: 'Processor',
        description: 'Processor time per second; 1 is a whole core.',
        unit: 'short',
        span: 8,
        queries: [{ expr: rateOf('process_cpu_seconds_total', 'profile'), legend: '{{profile}}' }],
      }),
    )
    .withRow(new RowBuilder('Console').id(50))
    .withPanel(
      stateTimeline(51, {
        title: 'Bus',
        description: 'Whether the console reads all streams. While it does not, its pages say since when.',
        unit: 'short',
        span: 6,
        valueLabels: UP,
        queries: [{ expr: 'fleet_console_bus_connected', legend: 'console' }],
      }),
    )
    .withPanel(
      timeSeries(52, {
        title: 'Events not read yet',
        description: 'Events on the bus that the console has not read; 0 while the bus is away.',
        unit: 'short',
        span: 6,
        queries: [{ expr: 'fleet_console_events_behind', legend: 'behind' }],
      }),
    )
    .withPanel(
      timeSeries(53, {
        title: 'Messages read',
        description:
          'Messages per second that the console read, by topic, and those that were no usable events.',
        unit: 'ops',
        span: 6,
        queries: [
          {
            expr: 'sum by (topic) (rate(fleet_console_events_total[$__rate_interval])) > 0',
            legend: '{{topic}}',
          },
          { expr: 'rate(fleet_console_events_skipped_total[$__rate_interval]) > 0', legend: 'skipped' },
        ],
      }),
    )
    .withPanel(
      timeSeries(54, {
        title: 'Sessions',
        description: 'Open sessions of the console.',
        unit: 'short',
        span: 6,
        queries: [{ expr: 'fleet_console_sessions', legend: 'sessions' }],
      }),
    )
    .withRow(new RowBuilder('HTTP').id(40))
    .withPanel(
      timeSeries(41, {
        title: 'Requests',
        description: 'Answered requests per second, by status.',
        unit: 'reqps',
        span: 12,
        queries: [
          {
            expr: rateOf('fleet_http_requests_total', 'profile, status'),
            legend: '{{profile}} {{status}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(42, {
        title: 'Duration of requests',
        description:
          'Time from the head of a request to the end of its reply: 95th percentile by route. Streams last as long as their task.',
        unit: 's',
        span: 12,
        queries: [
          {
            expr: quantileOf(0.95, 'fleet_http_request_duration_seconds', 'method, route'),
            legend: '{{method}} {{route}}',
          },
        ],
      }),
    )
    .build();
}
