import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { newDashboard, OF_PROFILE } from './dashboard.ts';
import { rateOf } from './expressions.ts';
import { stateTimeline, timeSeries, UP, type ValueLabels } from './panels.ts';

const CIRCUIT: ValueLabels = { 0: ['closed', 'green'], 1: ['open', 'red'] };

/** Peers, models and MCP servers, and how tasks move between peers. */
export function fleet(): Dashboard {
  return newDashboard({
    uid: 'fleet-peers',
    title: 'Fleet',
    description: 'Peers, models, MCP servers, queues and reroutes of a Hermes fleet.',
    profilesOf: 'fleet_task_admissions_total',
  })
    .withPanel(
      timeSeries(1, {
        title: 'Time since the last announce',
        description:
          'Age of the latest announce of each peer, by profile. Above 90 s the peer is stale and gets no tasks.',
        unit: 's',
        span: 12,
        threshold: 90,
        queries: [
          {
            expr: `time() - (fleet_peer_last_announce_timestamp_seconds{${OF_PROFILE}} > 0)`,
            legend: '{{peer}} at {{profile}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(2, {
        title: 'Announces',
        description: 'Announces per second by direction and result, of all peers.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: rateOf('fleet_handshake_announces_total', 'profile, direction, result'),
            legend: '{{profile}} {{direction}} {{result}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('States').id(10))
    .withPanel(
      stateTimeline(11, {
        title: 'Models',
        description: 'Whether the model of a profile can be called. A profile without a model gets no tasks.',
        unit: 'short',
        span: 8,
        valueLabels: UP,
        queries: [{ expr: `fleet_model_healthy{${OF_PROFILE}}`, legend: '{{model}} at {{profile}}' }],
      }),
    )
    .withPanel(
      stateTimeline(12, {
        title: 'MCP servers',
        description: 'Whether the server answered its last probe.',
        unit: 'short',
        span: 8,
        valueLabels: UP,
        queries: [{ expr: `fleet_mcp_server_up{${OF_PROFILE}}`, legend: '{{server}} at {{profile}}' }],
      }),
    )
    .withPanel(
      stateTimeline(13, {
        title: 'Circuits',
        description:
          'An open circuit: the peer could not be reached, or its tasks failed at once, and it is left alone for a while.',
        unit: 'short',
        span: 8,
        valueLabels: CIRCUIT,
        queries: [{ expr: `fleet_peer_circuit_open{${OF_PROFILE}}`, legend: '{{peer}} at {{profile}}' }],
      }),
    )
    .withRow(new RowBuilder('Queues and reroutes').id(20))
    .withPanel(
      timeSeries(21, {
        title: 'Tasks waiting',
        description: 'own: for a slot of the agent; waiting: for a peer; input: for an answer of the caller.',
        unit: 'short',
        span: 12,
        queries: [{ expr: `fleet_queue_depth{${OF_PROFILE}} > 0`, legend: '{{profile}} {{queue}}' }],
      }),
    )
    .withPanel(
      timeSeries(22, {
        title: 'Reroutes',
        description: 'Tasks per second that went from one peer to the next, by reason.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: rateOf('fleet_task_reroutes_total', 'from, to, reason'),
            legend: '{{from}} to {{to}}: {{reason}}',
          },
        ],
      }),
    )
    .build();
}
