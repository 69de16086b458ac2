import { ResultStatus, UnmetKind } from '@hermes-fleet/protocol/handshake';
import type { Families } from './family.ts';
import { OTHER } from './labels.ts';

const TASK_SECONDS = [0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 1800, 3600];
const OVERHEAD_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Dense around 1, an exact estimate, and wide enough for outliers. */
const DRIFT_RATIOS = [0.25, 0.5, 0.75, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 4];
const MODEL_SECONDS = [0.01, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const CALL_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const UNMET = UnmetKind.options;
const STATUS = [...ResultStatus.options, 'canceled'] as const;
const RESULT = ['ok', 'error'] as const;
/** What a task can wait for: a slot of the agent, a peer, an answer of its caller. */
const QUEUE = ['own', 'waiting', 'input'] as const;
const CERTIFICATE = ['server', 'client', 'nats'] as const;
const OWN = { from: 'profile' } as const;
const PEER = { from: 'peers' } as const;
/** A peer, or the profile itself. */
const HOP = { from: 'hops' } as const;
const TIER = { from: 'tiers', more: 12 } as const;
/** With the tier of tasks that are relayed, and of tasks that no model of the profile could take. */
const TIER_OR_NONE = { ...TIER, and: ['none'] } as const;
const SERVER = { more: 32 } as const;
const METHOD = { and: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] } as const;
const ROUTE = { more: 64 } as const;
const SPENDING = {
  scope: ['caller', 'profile', 'task_tree'],
  caller: { from: 'callers', and: ['all'], knownOnly: true },
} as const;
/** The interventions of each guard. */
const GUARDS = [
  ...['verify', 'review', 'reply', 'ending', 'loop'].map((guard) => ({ guard, level: 'warn' })),
  { guard: 'loop', level: 'harder' },
  ...['budget', 'steps', 'window'].map((guard) => ({ guard, level: 'wrap_up' })),
  ...['budget', 'steps', 'model', 'deadline', 'loop'].map((guard) => ({ guard, level: 'stop' })),
];

/** The metrics of every process. */
export const PROCESS_FAMILIES = {
  fleet_build_info: {
    help: '1, with what identifies the code that runs, see [Deploys](#deploys). The console has it too',
    labels: { version: { more: 1 }, revision: { more: 1 } },
  },
  fleet_http_requests_total: {
    help: 'answered requests; `route` is the pattern, never the address',
    labels: { method: METHOD, route: ROUTE, status: { more: 64 } },
  },
  fleet_http_request_duration_seconds: {
    help: 'time from the head of a request to the end of its reply',
    labels: { method: METHOD, route: ROUTE },
    buckets: CALL_SECONDS,
  },
} as const satisfies Families;

/** The metrics of every member: of the profiles and of the trader. */
export const MEMBER_FAMILIES = {
  fleet_tokens_spent_total: {
    help: "tokens spent, by the profile's own metering; `type` is `input` or `output`. Peers count their own spending",
    labels: {
      profile: OWN,
      caller: { from: 'callers', and: [OTHER] },
      model_tier: TIER,
      type: ['input', 'output'],
    },
    ledger: 'tokens_spent',
  },
  fleet_tokens_cached_total: {
    help: 'tokens read from and written to a prompt cache',
    ledger: 'tokens_cached',
  },
  fleet_token_drift_ratio: {
    help: "metered input tokens divided by estimated input tokens, for each of the profile's own model calls; 1 is an exact estimate",
    labels: { profile: OWN, model_tier: TIER },
    buckets: DRIFT_RATIOS,
  },
  fleet_tokens_saved_total: {
    help: 'the budget, or else the estimate, of tasks that entered the fleet here and ended blocked before any token was spent',
    ledger: 'tokens_saved',
  },
  fleet_task_admissions_total: {
    help: 'tasks that entered the fleet at this profile, once each when they end: `accepted` (reason `none`), or `blocked` by the kind of the first unmet requirement. Not counted: tasks that a profile sent on (with `task.path` or `task.parent`), and tasks that were canceled or failed before anybody began them',
    labels: { profile: OWN, decision: ['accepted', 'blocked'], reason: ['none', ...UNMET] },
    starts: [
      { decision: 'accepted', reason: 'none' },
      ...UNMET.map((reason) => ({ decision: 'blocked', reason })),
    ],
    ledger: 'admissions',
  },
  fleet_peer_refusals_total: {
    help: 'tasks that a peer sent on and this profile did not take, by the kind of the first unmet requirement. One task may be refused by several peers, and still be done',
    labels: { kind: UNMET },
    ledger: 'peer_refusals',
  },
  fleet_tasks_total: {
    help: 'ended tasks: `done`, `partial`, `blocked`, `error`, `canceled`. Relayed tasks have the tier `none`',
    labels: { profile: OWN, model_tier: TIER_OR_NONE, status: STATUS },
    ledger: 'tasks',
  },
  fleet_tasks_in_flight: { help: 'running tasks, own and relayed', read: true },
  fleet_spending_ceiling_tokens: {
    help: 'the ceilings on [spending](configuration.md#spending) that are set. `scope` is `caller`, `profile` or `task_tree`; the last two have the caller `all`',
    labels: SPENDING,
    read: true,
  },
  fleet_spending_spent_tokens: {
    help: "tokens of the current UTC day, by configured caller and of the profile's own model calls, with or without a ceiling",
    labels: SPENDING,
    read: true,
  },
  fleet_spending_reserved_tokens: {
    help: 'what unfinished tasks may still spend of their budgets; what is left is the ceiling less the other two',
    labels: SPENDING,
    read: true,
  },
  fleet_task_duration_seconds: {
    help: 'time from the start of a run to its result, without tasks that never ran: blocked ones, and those that were canceled or failed before. The run of a relayed task includes its wait for a peer; that of a resumed task begins with its last start',
    labels: { profile: OWN, model_tier: TIER_OR_NONE, status: STATUS },
    buckets: TASK_SECONDS,
  },
  fleet_task_turnaround_seconds: {
    help: 'time from the arrival of a dispatch to the result of its task, with all waits and restarts, of the same tasks',
    labels: { profile: OWN, model_tier: TIER_OR_NONE, status: STATUS },
    buckets: TASK_SECONDS,
  },
  fleet_dispatch_overhead_seconds: {
    help: "time from the arrival of a dispatch to the start of its task's first run",
    buckets: OVERHEAD_SECONDS,
  },
  fleet_task_retries_total: {
    help: 'repeated calls to a peer: `send`, `stream`, `ask`, `answer`; dispatches that a worker without a free slot turned away (`capacity`); and tasks dispatched after a wait, by the kind of requirement that they waited for (`mcp`, `capability`, `repo`, `capacity`, `peer`, …)',
    labels: { reason: ['send', 'stream', 'ask', 'answer', ...UNMET] },
  },
  fleet_task_reroutes_total: {
    help: 'tasks rerouted from one peer to the next',
    labels: { from: HOP, to: HOP, reason: { more: 8 } },
  },
  fleet_resumes_total: { help: 'tasks resumed after a stop or a crash' },
  fleet_budget_overruns_total: {
    help: '`exceeded`: tasks that spent more than their budget; `delegated`: peers that reported more than the budget they received',
    labels: { action: ['exceeded', 'delegated'] },
  },
  fleet_agent_compactions_total: {
    help: 'times a conversation of the agent was made shorter: `prune`, `cut` or `summary`, see [Long conversations](agent.md#long-conversations)',
    labels: { stage: ['prune', 'cut', 'summary'] },
  },
  fleet_guard_interventions_total: {
    help: 'interventions of guards in a run: `warn` asks the model again (`verify`, `review`, `reply`, `ending`) or tells it that it repeats itself (`loop`); `harder` tells it again if it continues (`loop`); `wrap_up` tells it to finish (`budget`, `steps`, `window`); `stop` ends the run (`budget`, `steps`, `model`, `deadline`, `loop`)',
    labels: { guard: { more: 16 }, level: { more: 4 } },
    starts: GUARDS,
  },
  fleet_model_call_duration_seconds: {
    help: "time from the request of a call of the agent's model, or of a fallback, to the end of its answer, each attempt by itself: `ok`, `error`, or `canceled` by the task or at a limit. Its count is the calls, and nearly the steps. With `executor: claude-code`, it has the calls that the [metering proxy](claude-code.md#token-metering) relays, including those of helpers, and their time ends when the answer is relayed",
    labels: { outcome: ['ok', 'error', 'canceled'] },
    buckets: MODEL_SECONDS,
  },
  fleet_model_first_token_seconds: {
    help: "time from the request of a call of the agent's model, or of a fallback, to the first token of its answer, thinking included; with Claude Code, of streamed answers",
    buckets: MODEL_SECONDS,
  },
  fleet_tool_calls_total: {
    help: 'ended tool calls, including those of sub-agents: `ok`, or `error` if the model was told of a failure; the tool `unknown` stands for a name that the model invented',
    labels: { tool: { more: 128 }, result: RESULT },
  },
  fleet_queue_depth: {
    help: "waiting tasks: `own` for the profile's agent, `waiting` for a peer that can take them, `input` for an answer of their caller",
    labels: { queue: QUEUE },
    read: true,
  },
  fleet_queue_oldest_age_seconds: {
    help: 'age of the task that has waited longest',
    labels: { queue: QUEUE },
    read: true,
  },
  fleet_handshake_announces_total: {
    help: 'announces; direction `in` or `out`, result `ok` or `error`',
    labels: { peer: PEER, direction: ['in', 'out'], result: RESULT },
  },
  fleet_peer_last_announce_timestamp_seconds: {
    help: "time of the peer's last announce; 0 for never",
    labels: { peer: PEER },
  },
  fleet_peer_circuit_open: {
    help: '1 while the circuit to a configured peer is open, because it could not be reached or its tasks failed at once',
    labels: { peer: PEER },
    read: true,
  },
  fleet_mcp_server_up: {
    help: '1 while the server answers its probes',
    labels: { server: SERVER },
    read: true,
  },
  fleet_model_healthy: {
    help: "1 while the profile's model can be called, 0 while it cannot; the trader has none. See [agent.md](agent.md#model-health)",
    labels: { model: { more: 4 } },
    read: true,
  },
  fleet_dependency_up: {
    help: '1 while `/ready` has the dependency as `ok`, 0 while it is `degraded` or `down`: `ledger`, `workspace`, `nats`, `model`, `mcp:<server>` and the others',
    labels: { dependency: { more: 128 } },
    read: true,
  },
  fleet_certificate_expiry_timestamp_seconds: {
    help: 'when a certificate in use expires, seconds since the epoch: `server`, `client` or `nats`, where [fleet.yaml](configuration.md#fleetyaml) has one',
    labels: { use: CERTIFICATE },
    read: true,
  },
  fleet_certificate_renew_by_timestamp_seconds: {
    help: 'when a certificate in use is due for renewal: 14 days before it expires, or where a fifth of its time is less, so long before',
    labels: { use: CERTIFICATE },
    read: true,
  },
  fleet_disk_free_bytes: { help: 'free space of the disk that holds the ledger', read: true },
  fleet_disk_size_bytes: { help: 'size of the disk that holds the ledger', read: true },
  fleet_ledger_size_bytes: { help: 'size of the ledger, with its write-ahead log', read: true },
  fleet_mcp_operation_duration_seconds: {
    help: 'duration of probes and calls of MCP servers',
    labels: { server: SERVER, method: { more: 8 }, outcome: { more: 4 } },
    buckets: CALL_SECONDS,
  },
  fleet_events_published_total: {
    help: 'attempts to publish an event; result `ok` or `error`',
    labels: { result: RESULT },
  },
  fleet_push_attempts_total: {
    help: 'attempts to deliver a [push notification](push.md): `ok`; `error`, which is tried again; or `given_up`, the last one of a config',
    labels: { result: [...RESULT, 'given_up'] },
  },
  fleet_outbox_backlog: { help: 'events that the bus has not yet acknowledged', read: true },
  fleet_outbox_oldest_age_seconds: { help: 'age of the oldest unacknowledged event', read: true },
  fleet_outbox_missing_events: {
    help: 'events that the bus had acknowledged and its stream lacks, as of the last comparison',
    read: true,
  },
  ...PROCESS_FAMILIES,
} as const satisfies Families;
