import { ClientTlsSchema } from '@hermes-fleet/net/tls';
import { Priority } from '@hermes-fleet/protocol/handshake';
import { z } from 'zod';
import { crossCheck } from './cross-check.ts';
import { endpointPatternProblem } from './endpoint-pattern.ts';
import { Server } from './server-config.ts';
import {
  httpUrl,
  int,
  name,
  positive,
  reportProblem,
  seconds,
  secondsWithin,
  text,
  variable,
  whole,
} from './values.ts';

const insteadOf = (instead: string) =>
  z
    .never({ error: `is not used here: ${instead}` })
    .optional()
    .describe('the error names the replacement');

const Agent = z.strictObject({
  url: httpUrl.describe("a peer's address, with or without `/jsonrpc`"),
  agent_card_url: httpUrl
    .optional()
    .describe('the address of its agent card, which is read before the first announce'),
  max_tasks: positive
    .max(10_000)
    .optional()
    .describe('how many tasks the peer gets at the same time if it announces no limit; default: 4'),
  token_env: variable.optional().describe('the token sent to this peer'),
  managed: insteadOf('run the worker as a profile of its own and list it here with url and token_env only'),
  mode: insteadOf("set fleet.response_handler in the worker's own fleet.yaml"),
  repo_path: insteadOf("the worker's own configuration names its workspace"),
});

const Routing = z.strictObject({
  on_blocked: z
    .enum(['reroute', 'queue', 'fail'])
    .default('reroute')
    .describe('what to do when a worker refuses and the dispatch does not say'),
  max_attempts: whole(1, 20)
    .default(3)
    .describe('how many workers may refuse one task, where the dispatch does not say'),
  tiers: z
    .strictObject({
      small_below_tokens: positive.default(2_000).describe('a budget below this prefers the smallest tier'),
      large_above_tokens: positive.default(50_000).describe('a budget above this prefers the largest tier'),
      by_priority: z
        .partialRecord(Priority, text)
        .optional()
        .describe('the preferred tier of `low`, `normal`, `high` or `urgent`'),
    })
    .prefault({}),
  peer_down_after_s: seconds
    .default(60)
    .describe('how long a worker that accepted a task may be unreachable before the task is given up'),
  patience_s: secondsWithin(0, 3_600)
    .default(10)
    .describe('how long a further task of a context waits for the worker that has the context'),
  buffer: whole(0, 1_000)
    .default(1)
    .describe('how many tasks may [wait at a busy worker](handshake.md#capacity)'),
});

const Join = z.strictObject({
  endpoints: z
    .array(z.string().superRefine(reportProblem(endpointPatternProblem)))
    .max(64)
    .describe('the addresses that they may join from'),
  token_env: variable.optional().describe('the token sent to workers that joined without a join token'),
});

const Queue = z.strictObject({
  ageing_s: seconds
    .default(60)
    .describe('waiting this long raises the first task of a caller and priority by one priority'),
  max_wait_s: seconds
    .max(86_400)
    .default(60)
    .describe('how long a task without a deadline waits for a worker'),
  max_waiting: positive.max(100_000).default(1_000).describe('tasks that may wait for a worker at a time'),
});

const MIB = 2 ** 20;

const Limits = z.strictObject({
  max_concurrent_tasks: positive.max(1_000).default(4).describe('own tasks that run at a time'),
  queue_depth: whole(0, 10_000).default(100).describe('own tasks that may wait to run'),
  max_relayed_tasks: positive.max(10_000).default(200).describe('tasks that are with peers at a time'),
  max_resumes: int()
    .nonnegative()
    .default(3)
    .describe('how often a task is resumed after a crash before it ends as `error`'),
  max_input_wait_s: seconds
    .max(2_592_000)
    .default(86_400)
    .describe(
      'how long a [question](handshake.md#asking) waits for its answer; then the task ends as `partial`',
    ),
  max_artifact_bytes: positive
    .max(64 * MIB)
    .default(8 * MIB)
    .describe('the content of one [artifact](handshake.md#artifacts); a chunk that exceeds it is not stored'),
  max_task_artifact_bytes: positive
    .max(256 * MIB)
    .default(32 * MIB)
    .describe('the content of all artifacts of one task, which stay in the ledger until the task is removed'),
  max_streams_per_caller: positive
    .max(100_000)
    .default(256)
    .describe('event streams that a caller may have open at a time'),
  max_connections: whole(16, 100_000)
    .default(4_096)
    .describe('[connections](peering.md#connections) that the listener may have at a time'),
  max_unauthenticated_connections: whole(8, 10_000)
    .default(256)
    .describe('connections without a valid token; the oldest gives way to a new one'),
  unauthenticated_idle_s: secondsWithin(0.1, 3_600)
    .default(3)
    .describe('after this time without a byte, a connection that has not sent a token is closed'),
});

const mediaRange = z
  .string()
  .max(256)
  .regex(
    /^(?:\*\/\*|[a-z0-9][a-z0-9!#$&^_.+-]*\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*))$/,
    'must be a media type in lower case, such as "application/pdf", "image/*" or "*/*"',
  );

const Files = z.strictObject({
  media_types: z
    .array(mediaRange)
    .max(64)
    .default(['*/*'])
    .describe('what messages may [hold](handshake.md#data-and-files) beside text, JSON and the handshake'),
  max_mb: positive.max(1_024).default(32).describe('what the files of a task may have together'),
  timeout_s: seconds.max(3_600).default(60).describe('how long reading the address of a file may take'),
  allow_internal: z
    .array(text)
    .max(64)
    .default([])
    .describe('internal hosts that addresses of files may name: `host` or `host:port`'),
});

const Spending = z.strictObject({
  tokens_per_day: positive
    .optional()
    .describe("the [ceiling](#spending) on what this profile's own model calls spend a day"),
  tokens_per_task_tree: positive
    .optional()
    .describe('the ceiling on the budget of a task, which pays for all that it delegates'),
  callers: z
    .record(
      name,
      z.strictObject({
        tokens_per_day: positive.describe('the ceiling on what its tasks spend a day, own and delegated'),
      }),
    )
    .default({}),
});

const Push = z.strictObject({
  enabled: z.boolean().default(true).describe('whether callers may have [push notifications](push.md)'),
  allow_internal: z
    .array(
      z
        .string()
        .regex(
          /^(\[[0-9A-Fa-f:.]+\]|[^:/?#@\s[\]]+)(:\d{1,5})?$/,
          'must be a host, or host:port, without a scheme',
        ),
    )
    .max(64)
    .default([])
    .describe('internal [targets](push.md#configs): `host`, or `host:port` for any port'),
  max_per_task: positive.max(100).default(10).describe('push notification configs that a task may have'),
  max_per_caller: positive
    .max(100_000)
    .default(1000)
    .describe('push notification configs with open deliveries that a caller may have'),
  give_up_after_s: seconds
    .max(2_592_000)
    .default(86_400)
    .describe('after this time without a delivery, a config whose target fails is given up'),
  signing_key_env: variable
    .optional()
    .describe('the private key that [signs push notifications](push.md#signatures): 32 bytes in base64'),
});

const Nats = z.strictObject({
  servers: z
    .array(
      z.url({ protocol: /^(nats|tls|wss?)$/, error: 'must be an address such as nats://127.0.0.1:4222' }),
    )
    .min(1)
    .describe('the servers of the event bus'),
  user_env: variable.optional().describe('the bus user'),
  password_env: variable.optional().describe("the bus user's password"),
  inbox_prefix: text
    .optional()
    .describe('the inbox that the user may subscribe to; of `fleet keys`: `_INBOX_<profile>`'),
  tls: ClientTlsSchema.optional().describe(
    'certificates for the [bus](events.md#tls), whose servers must then speak TLS',
  ),
});

const Fleet = z.strictObject({
  enabled: z.boolean().default(true).describe('`false`: the gateway says so and exits; nothing listens'),
  response_handler: z
    .enum(['agent', 'llm', 'echo'])
    .default('agent')
    .describe('the loop with tools, a model without tools, or the brief as the answer, without a model'),
  role: text.max(200).default('agent').describe('announced to peers; tasks are never routed to `trader`'),
  purpose: z.string().max(2_000).optional().describe('announced to peers'),
  orchestrate: z
    .boolean()
    .default(false)
    .describe('`true`: dispatches without a target, or with target `auto`, are routed to peers'),
  tier: text.optional().describe("the tier of the profile's model; default: the one that its name names"),
  tiers: z
    .array(text)
    .min(1)
    .max(16)
    .default(['haiku', 'sonnet', 'opus'])
    .describe('all tiers, smallest first'),
  server: Server.optional().describe('the listener; optional only where `fleet.enabled` is `false`'),
  tls: ClientTlsSchema.optional().describe('certificates for [connections to peers](peering.md#tls)'),
  agents: z.record(name, Agent).default({}),
  announce: z
    .strictObject({
      ttl_s: seconds
        .max(86_400)
        .default(90)
        .describe('how long peers trust an announce; it is repeated every third of this time'),
    })
    .prefault({}),
  routing: Routing.prefault({}),
  join: Join.optional().describe('lets workers join that no file lists'),
  queue: Queue.prefault({}),
  limits: Limits.prefault({}),
  files: Files.prefault({}),
  spending: Spending.prefault({}),
  push: Push.prefault({}),
  shutdown: z
    .strictObject({
      drain_s: secondsWithin(0, 86_400)
        .default(0)
        .describe(
          'how long a gateway that [stops](operations.md#stop-crash-restart) finishes its tasks before `grace_s` begins',
        ),
      grace_s: seconds
        .max(600)
        .default(20)
        .describe('how long running tasks may take to reach a checkpoint when the gateway stops'),
    })
    .prefault({}),
  retention: z
    .strictObject({
      finished_tasks_days: positive.default(30).describe('how long finished tasks and unused contexts stay'),
      results_days: positive.optional().describe('how long unmerged results stay whose context is gone'),
      conversations_mb: positive
        .default(512)
        .describe(
          'all [conversations](agent.md#going-on) together; beyond it, those unused for the longest time go',
        ),
    })
    .prefault({}),
  nats: Nats.optional().describe('the event bus; without it, events stay in the ledger'),
});

/**
 * The strict schema of fleet.yaml (docs/configuration.md#fleetyaml), with the snake_case names of the file. Problems that
 * span several keys (a missing server, an open bind, two peers at one address) are reported in the same pass.
 */
export const FleetConfigSchema = z
  .strictObject({ fleet: Fleet })
  .superRefine((value, ctx) => crossCheck(value, ctx), { when: () => true });

export type FleetConfig = z.output<typeof FleetConfigSchema>;
