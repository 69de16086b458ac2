import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const TASK_SECONDS = [0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 1800, 3600];
const OVERHEAD_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Dense around 1, an exact estimate, and wide enough for outliers. */
const DRIFT_RATIOS = [0.25, 0.5, 0.75, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 4];
const MODEL_SECONDS = [0.01, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const CALL_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Registers the metric families of a profile (docs/metrics.md). */
export function registerFamilies(registry: Registry) {
  const registers = [registry];
  const counter = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter<L>({ name, help, labelNames, registers });
  const gauge = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge<L>({ name, help, labelNames, registers });
  const histogram = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: number[],
  ) => new Histogram<L>({ name, help, labelNames, buckets, registers });

  return {
    tokensSpent: counter('fleet_tokens_spent_total', 'Tokens spent, by own metering.', [
      'profile',
      'caller',
      'model_tier',
      'type',
    ]),
    tokensCached: counter('fleet_tokens_cached_total', 'Tokens read from or written to a prompt cache.'),
    tokenDrift: histogram(
      'fleet_token_drift_ratio',
      'Metered over estimated input tokens of each own model call; 1 is an exact estimate.',
      ['profile', 'model_tier'],
      DRIFT_RATIOS,
    ),
    admissions: counter(
      'fleet_task_admissions_total',
      'Tasks that entered the fleet here, once each when they end: accepted, or blocked by the first reason.',
      ['profile', 'decision', 'reason'],
    ),
    peerRefusals: counter(
      'fleet_peer_refusals_total',
      'Tasks of peers that were refused here, by the first reason.',
      ['kind'],
    ),
    tasks: counter('fleet_tasks_total', 'Tasks ended, by status.', ['profile', 'model_tier', 'status']),
    tasksInFlight: gauge('fleet_tasks_in_flight', 'Tasks running now.'),
    tokensSaved: counter(
      'fleet_tokens_saved_total',
      'Budget, or else estimate, of tasks that entered the fleet here and ended blocked without spending tokens.',
    ),
    spendingCeiling: gauge('fleet_spending_ceiling_tokens', 'Tokens that a ceiling on spending allows.', [
      'scope',
      'caller',
    ]),
    spendingSpent: gauge('fleet_spending_spent_tokens', 'Tokens spent on this UTC day.', ['scope', 'caller']),
    spendingReserved: gauge(
      'fleet_spending_reserved_tokens',
      'Tokens that unfinished tasks may still spend of their budgets.',
      ['scope', 'caller'],
    ),
    taskDuration: histogram(
      'fleet_task_duration_seconds',
      'From the start of a run to the result of its task; without tasks that never ran.',
      ['profile', 'model_tier', 'status'],
      TASK_SECONDS,
    ),
    taskTurnaround: histogram(
      'fleet_task_turnaround_seconds',
      'From the arrival of a dispatch to the result of its task, with its waits; without tasks that never ran.',
      ['profile', 'model_tier', 'status'],
      TASK_SECONDS,
    ),
    dispatchOverhead: histogram(
      'fleet_dispatch_overhead_seconds',
      "From the arrival of a dispatch to the start of its task's first run.",
      [],
      OVERHEAD_SECONDS,
    ),
    announces: counter('fleet_handshake_announces_total', 'Announces sent and received.', [
      'peer',
      'direction',
      'result',
    ]),
    peerLastAnnounce: gauge(
      'fleet_peer_last_announce_timestamp_seconds',
      'Time of the last announce of a peer, seconds since the epoch; 0 for never.',
      ['peer'],
    ),
    mcpServerUp: gauge('fleet_mcp_server_up', '1 if an MCP server answered its last probe, else 0.', [
      'server',
    ]),
    modelHealthy: gauge('fleet_model_healthy', "1 while the profile's model can be called, else 0.", [
      'model',
    ]),
    mcpOperation: histogram(
      'fleet_mcp_operation_duration_seconds',
      'Duration of MCP operations.',
      ['server', 'method', 'outcome'],
      CALL_SECONDS,
    ),
    dependencyUp: gauge('fleet_dependency_up', '1 while a dependency is ok at /ready, else 0.', [
      'dependency',
    ]),
    queueDepth: gauge('fleet_queue_depth', 'Tasks waiting.', ['queue']),
    queueOldestAge: gauge('fleet_queue_oldest_age_seconds', 'Age of the task that waits longest.', ['queue']),
    retries: counter('fleet_task_retries_total', 'Task attempts repeated.', ['reason']),
    reroutes: counter('fleet_task_reroutes_total', 'Tasks moved from one peer to another.', [
      'from',
      'to',
      'reason',
    ]),
    budgetOverruns: counter('fleet_budget_overruns_total', 'Times a token budget was reached.', ['action']),
    guards: counter('fleet_guard_interventions_total', 'Interventions of the loop guards.', [
      'guard',
      'level',
    ]),
    compactions: counter('fleet_agent_compactions_total', 'Times a conversation was made shorter.', [
      'stage',
    ]),
    modelCall: histogram(
      'fleet_model_call_duration_seconds',
      'From the request of a model call to the end of its answer, by outcome.',
      ['outcome'],
      MODEL_SECONDS,
    ),
    modelFirstToken: histogram(
      'fleet_model_first_token_seconds',
      'From the request of a model call to the first token of its answer.',
      [],
      MODEL_SECONDS,
    ),
    toolCalls: counter('fleet_tool_calls_total', 'Completed tool calls.', ['tool', 'result']),
    resumes: counter('fleet_resumes_total', 'Tasks resumed after a stop or a crash.'),
    eventsPublished: counter('fleet_events_published_total', 'Events handed to the bus.', ['result']),
    pushAttempts: counter('fleet_push_attempts_total', 'Attempts to deliver a push notification.', [
      'result',
    ]),
    outboxBacklog: gauge('fleet_outbox_backlog', 'Events that the bus has not acknowledged yet.'),
    outboxOldestAge: gauge(
      'fleet_outbox_oldest_age_seconds',
      'Age of the oldest event that the bus has not acknowledged yet.',
    ),
    outboxMissing: gauge(
      'fleet_outbox_missing_events',
      'Events that the bus had acknowledged and its stream lacks, as of the last comparison.',
    ),
    httpRequests: counter('fleet_http_requests_total', 'HTTP requests answered.', [
      'method',
      'route',
      'status',
    ]),
    httpDuration: histogram(
      'fleet_http_request_duration_seconds',
      'From the head of a request to the end of its reply.',
      ['method', 'route'],
      CALL_SECONDS,
    ),
  };
}
