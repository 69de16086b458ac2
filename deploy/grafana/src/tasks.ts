import { type Dashboard, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { newDashboard, OF_PROFILE } from './dashboard.ts';
import { mediansOf, rateOf } from './expressions.ts';
import { timeSeries } from './panels.ts';

/** The board of tasks: how they end, how long they take, and what they wait for. */
export function tasks(): Dashboard {
  return newDashboard({
    uid: 'fleet-tasks',
    title: 'Tasks',
    description: 'Ends, durations, waits and budgets of the tasks of a Hermes fleet.',
    profilesOf: 'fleet_task_admissions_total',
  })
    .withPanel(
      timeSeries(1, {
        title: 'Tasks ended',
        description: 'Tasks per second by status, own and relayed.',
        unit: 'ops',
        span: 8,
        queries: [{ expr: rateOf('fleet_tasks_total', 'profile, status'), legend: '{{profile}} {{status}}' }],
      }),
    )
    .withPanel(
      timeSeries(2, {
        title: 'Tasks running',
        description: 'Tasks that hold an executor slot, own and relayed.',
        unit: 'short',
        span: 8,
        queries: [{ expr: `fleet_tasks_in_flight{${OF_PROFILE}} > 0`, legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(3, {
        title: 'Refusals between peers',
        description:
          'Tasks per second that a peer sent on and the profile refused, by the first reason. A task may be refused by several peers, and still be done.',
        unit: 'ops',
        span: 8,
        queries: [
          { expr: rateOf('fleet_peer_refusals_total', 'profile, kind'), legend: '{{profile}}: {{kind}}' },
        ],
      }),
    )
    .withRow(new RowBuilder('Time').id(10))
    .withPanel(
      timeSeries(11, {
        title: 'Task duration',
        description:
          'Time from the start of a run to its result, without tasks that never ran: median and 95th percentile.',
        unit: 's',
        span: 8,
        queries: mediansOf('fleet_task_duration_seconds'),
      }),
    )
    .withPanel(
      timeSeries(12, {
        title: 'Task turnaround',
        description:
          'Time from the arrival of a dispatch to the result of its task, with its waits, without tasks that never ran: median and 95th percentile.',
        unit: 's',
        span: 8,
        queries: mediansOf('fleet_task_turnaround_seconds'),
      }),
    )
    .withPanel(
      timeSeries(13, {
        title: 'Dispatch overhead',
        description:
          "Time from the arrival of a dispatch to the start of its task's first run: median and 95th percentile.",
        unit: 's',
        span: 8,
        queries: mediansOf('fleet_dispatch_overhead_seconds'),
      }),
    )
    .withRow(new RowBuilder('Waiting').id(20))
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
        title: 'Longest wait',
        description:
          'Age of the task that has waited longest, by queue. The alert TasksWaitTooLong fires above ten minutes, except for input.',
        unit: 's',
        span: 12,
        threshold: 600,
        queries: [
          { expr: `fleet_queue_oldest_age_seconds{${OF_PROFILE}} > 0`, legend: '{{profile}} {{queue}}' },
        ],
      }),
    )
    .withRow(new RowBuilder('Again, and over budget').id(30))
    .withPanel(
      timeSeries(31, {
        title: 'Retries',
        description:
          'Repeated calls to peers, dispatches that a full worker turned away, and tasks that were dispatched after a wait, per second by reason.',
        unit: 'ops',
        span: 8,
        queries: [
          { expr: rateOf('fleet_task_retries_total', 'profile, reason'), legend: '{{profile}}: {{reason}}' },
        ],
      }),
    )
    .withPanel(
      timeSeries(32, {
        title: 'Tasks resumed',
        description: 'Tasks that went on after a stop or a crash, per second.',
        unit: 'ops',
        span: 8,
        queries: [{ expr: rateOf('fleet_resumes_total', 'profile'), legend: '{{profile}}' }],
      }),
    )
    .withPanel(
      timeSeries(33, {
        title: 'Budget overruns',
        description:
          'exceeded: tasks that spent more than their budget; delegated: peers that reported more than they received. Per second.',
        unit: 'ops',
        span: 8,
        queries: [
          {
            expr: rateOf('fleet_budget_overruns_total', 'profile, action'),
            legend: '{{profile}} {{action}}',
          },
        ],
      }),
    )
    .build();
}
