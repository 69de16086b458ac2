import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { newDashboard } from './dashboard.ts';
import { mediansOf, quantileOf, rateOf } from './expressions.ts';
import { timeSeries } from './panels.ts';

/** The board of agents in their runs: model calls, tools, guards and the length of conversations. */
export function agent(): Dashboard {
  return newDashboard({
    uid: 'fleet-agent',
    title: 'Agent',
    description: 'Model calls, tools, guards and conversations of the agents of a Hermes fleet.',
    profilesOf: 'fleet_model_call_duration_seconds_count',
  })
    .withPanel(
      timeSeries(1, {
        title: 'Model calls',
        description: 'Calls per second by outcome, each attempt by itself. Nearly the steps of the agents.',
        unit: 'ops',
        span: 8,
        queries: [
          {
            expr: rateOf('fleet_model_call_duration_seconds_count', 'profile, outcome'),
            legend: '{{profile}} {{outcome}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(2, {
        title: 'Model latency',
        description: 'Time from the request of a call to the end of its answer: median and 95th percentile.',
        unit: 's',
        span: 8,
        queries: mediansOf('fleet_model_call_duration_seconds', 'outcome="ok"'),
      }),
    )
    .withPanel(
      timeSeries(3, {
        title: 'Time to the first token',
        description:
          'Time from the request of a call to its first token, thinking included: median and 95th percentile.',
        unit: 's',
        span: 8,
        queries: mediansOf('fleet_model_first_token_seconds'),
      }),
    )
    .withRow(new RowBuilder('Tokens').id(10))
    .withPanel(
      timeSeries(11, {
        title: 'Tokens by direction',
        description: 'Tokens per second that each profile metered, into its model and out of it.',
        unit: 'short',
        span: 8,
        queries: [
          { expr: rateOf('fleet_tokens_spent_total', 'profile, type'), legend: '{{profile}} {{type}}' },
        ],
      }),
    )
    .withPanel(
      timeSeries(12, {
        title: 'Cached tokens',
        description: 'Tokens per second that were read from or written to a prompt cache.',
        unit: 'short',
        span: 8,
        queries: [{ expr: rateOf('fleet_tokens_cached_total', 'profile'), legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(13, {
        title: 'Estimates of input',
        description: 'Metered input tokens divided by the estimate; 1 is exact: median and 95th percentile.',
        unit: 'short',
        span: 8,
        queries: mediansOf('fleet_token_drift_ratio'),
      }),
    )
    .withRow(new RowBuilder('Tools').id(20))
    .withPanel(
      timeSeries(21, {
        title: 'Tool calls',
        description: 'Ended calls per second by tool, including those of sub-agents.',
        unit: 'ops',
        span: 8,
        queries: [{ expr: rateOf('fleet_tool_calls_total', 'tool'), legend: '{{tool}}' }],
      }),
    )
    .withPanel(
      timeSeries(22, {
        title: 'Tool calls that failed',
        description: 'Calls per second whose failure the model was told of, by profile and tool.',
        unit: 'ops',
        span: 8,
        queries: [
          {
            expr: rateOf('fleet_tool_calls_total', 'profile, tool', 'result="error"'),
            legend: '{{profile}} {{tool}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(23, {
        title: 'MCP operations',
        description: 'Duration of probes and calls of MCP servers: 95th percentile by server and method.',
        unit: 's',
        span: 8,
        queries: [
          {
            expr: quantileOf(0.95, 'fleet_mcp_operation_duration_seconds', 'profile, server, method'),
            legend: '{{profile}} {{server}} {{method}}',
          },
        ],
      }),
    )
    .withRow(new RowBuilder('Guards and conversations').id(30))
    .withPanel(
      timeSeries(31, {
        title: 'Guard interventions',
        description:
          'Interventions of guards per second: warn, harder, wrap_up, or stop, which ends the run.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: rateOf('fleet_guard_interventions_total', 'profile, guard, level'),
            legend: '{{profile}} {{guard}}: {{level}}',
          },
        ],
      }),
    )
    .withPanel(
      timeSeries(32, {
        title: 'Compactions',
        description: 'Times per second that a conversation was made shorter: prune, cut or summary.',
        unit: 'ops',
        span: 12,
        queries: [
          {
            expr: rateOf('fleet_agent_compactions_total', 'profile, stage'),
            legend: '{{profile}} {{stage}}',
          },
        ],
      }),
    )
    .build();
}
