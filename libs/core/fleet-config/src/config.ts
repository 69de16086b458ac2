import { Priority } from '@hermes-fleet/protocol/handshake';
import { z } from 'zod';
import { crossCheck } from './cross-check.ts';
import { endpointPatternProblem } from './endpoint-pattern.ts';
import { namePatternProblem, PEER_NAME, RESERVED_NAMES } from './name-pattern.ts';

const reportProblem =
  (problemOf: (text: string) => string | undefined) =>
  (text: string, ctx: z.core.$RefinementCtx): void => {
    const message = problemOf(text);
    if (message !== undefined) ctx.addIssue({ code: 'custom', message });
  };

const name = z
  .string()
  .regex(PEER_NAME, 'must be a name of letters, digits, ".", "_" or "-"')
  .refine((text) => !RESERVED_NAMES.has(text), 'is reserved by the handshake: choose another name');
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not the token itself');
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });
const portProblem = ({ input }: { input?: unknown }): string =>
  input === undefined ? 'is required: a port from 1 to 65535' : 'must be a port from 1 to 65535';

/** A whole number. For a fraction, z.int() would make zod skip the checks that span several keys. */
const int = (params?: { error: typeof portProblem }) =>
  z.number(params).superRefine((input, ctx) => {
    if (!Number.isSafeInteger(input)) ctx.addIssue({ code: 'invalid_type', expected: 'int', input });
  });
const positive = int().positive();
const seconds = z.number().positive();

const insteadOf = (instead: string) => z.never({ error: `is not used here: ${instead}` }).optional();

const Agent = z.strictObject({
  url: httpUrl,
  agent_card_url: httpUrl.optional(),
  max_tasks: positive.max(10_000).optional(),
  token_env: variable.optional(),
  managed: insteadOf('run the worker as a profile of its own and list it here with url and token_env only'),
  mode: insteadOf("set fleet.response_handler in the worker's own fleet.yaml"),
  repo_path: insteadOf("the worker's own configuration names its workspace"),
});

const CallerEntry = z.strictObject({
  token_env: variable,
  scopes: z.array(z.string().regex(/^[a-z]+(:[a-z_]+)?$/, 'must be a scope such as "dispatch"')).min(1),
  speaks_for: z
    .array(z.string().superRefine(reportProblem(namePatternProblem)))
    .max(64)
    .default([]),
});

const path = z.string().min(1).max(4_096);

const ListenerTls = z.strictObject({
  cert_file: path,
  key_file: path,
  client_ca_file: path.optional(),
  client_cert: z.enum(['none', 'optional', 'required']).default('none'),
});

const ClientTls = z.strictObject({
  ca_file: path.optional(),
  cert_file: path.optional(),
  key_file: path.optional(),
});

const Server = z.strictObject({
  bind_host: z.string().min(1).default('127.0.0.1'),
  bind_port: int({ error: portProblem }).min(1).max(65_535),
  auth_required: z.boolean().default(true),
  token_env: variable.optional(),
  callers: z.record(name, CallerEntry).optional(),
  public_url: httpUrl.optional(),
  allowed_hosts: z.array(z.string().min(1)).max(32).default([]),
  tls: ListenerTls.optional(),
});

const Routing = z.strictObject({
  on_blocked: z.enum(['reroute', 'queue', 'fail']).default('reroute'),
  max_attempts: int().min(1).max(20).default(3),
  tiers: z
    .strictObject({
      small_below_tokens: positive.default(2_000),
      large_above_tokens: positive.default(50_000),
      by_priority: z.partialRecord(Priority, z.string().min(1)).optional(),
    })
    .prefault({}),
  peer_down_after_s: seconds.default(60),
  patience_s: z.number().nonnegative().max(3_600).default(10),
  buffer: int().nonnegative().max(1_000).default(1),
});

const Join = z.strictObject({
  endpoints: z
    .array(z.string().superRefine(reportProblem(endpointPatternProblem)))
    .min(1)
    .max(64),
  token_env: variable.optional(),
});

const Queue = z.strictObject({
  ageing_s: seconds.default(60),
  max_wait_s: seconds.max(86_400).default(60),
  max_waiting: positive.max(100_000).default(1_000),
});

const MIB = 2 ** 20;

const Limits = z.strictObject({
  max_concurrent_tasks: positive.max(1_000).default(4),
  queue_depth: int().nonnegative().max(10_000).default(100),
  max_relayed_tasks: positive.max(10_000).default(200),
  max_resumes: int().nonnegative().default(3),
  max_input_wait_s: seconds.max(2_592_000).default(86_400),
  max_artifact_bytes: positive.max(64 * MIB).default(8 * MIB),
  max_task_artifact_bytes: positive.max(256 * MIB).default(32 * MIB),
  max_streams_per_caller: positive.max(100_000).default(256),
  max_connections: int().min(16).max(100_000).default(4_096),
  max_unauthenticated_connections: int().min(8).max(10_000).default(256),
  unauthenticated_idle_s: z.number().min(0.1).max(3_600).default(3),
});

const mediaRange = z
  .string()
  .max(256)
  .regex(
    /^(?:\*\/\*|[a-z0-9][a-z0-9!#$&^_.+-]*\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*))$/,
    'must be a media type in lower case, such as "application/pdf", "image/*" or "*/*"',
  );

const Files = z.strictObject({
  media_types: z.array(mediaRange).max(64).default(['*/*']),
  max_mb: positive.max(1_024).default(32),
  timeout_s: seconds.max(3_600).default(60),
  allow_internal: z.array(z.string().min(1)).max(64).default([]),
});

const Spending = z.strictObject({
  tokens_per_day: positive.optional(),
  tokens_per_task_tree: positive.optional(),
  callers: z.record(name, z.strictObject({ tokens_per_day: positive })).default({}),
});

const Push = z.strictObject({
  enabled: z.boolean().default(true),
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
    .default([]),
  max_per_task: positive.max(100).default(10),
  max_per_caller: positive.max(100_000).default(1000),
  give_up_after_s: seconds.max(2_592_000).default(86_400),
  signing_key_env: variable.optional(),
});

const Nats = z.strictObject({
  servers: z
    .array(
      z.url({ protocol: /^(nats|tls|wss?)$/, error: 'must be an address such as nats://127.0.0.1:4222' }),
    )
    .min(1),
  user_env: variable.optional(),
  password_env: variable.optional(),
  inbox_prefix: z.string().min(1).optional(),
  tls: ClientTls.optional(),
});

const Fleet = z.strictObject({
  enabled: z.boolean().default(true),
  response_handler: z.enum(['agent', 'llm', 'echo']).default('agent'),
  role: z.string().min(1).max(200).default('agent'),
  purpose: z.string().max(2_000).optional(),
  orchestrate: z.boolean().default(false),
  tier: z.string().min(1).optional(),
  tiers: z.array(z.string().min(1)).min(1).max(16).default(['haiku', 'sonnet', 'opus']),
  server: Server.optional(),
  tls: ClientTls.optional(),
  agents: z.record(name, Agent).default({}),
  announce: z.strictObject({ ttl_s: seconds.max(86_400).default(90) }).prefault({}),
  routing: Routing.prefault({}),
  join: Join.optional(),
  queue: Queue.prefault({}),
  limits: Limits.prefault({}),
  files: Files.prefault({}),
  spending: Spending.prefault({}),
  push: Push.prefault({}),
  shutdown: z
    .strictObject({
      drain_s: z.number().nonnegative().max(86_400).default(0),
      grace_s: seconds.max(600).default(20),
    })
    .prefault({}),
  retention: z
    .strictObject({
      finished_tasks_days: positive.default(30),
      results_days: positive.optional(),
      conversations_mb: positive.default(512),
    })
    .prefault({}),
  nats: Nats.optional(),
});

/**
 * The strict schema of fleet.yaml (docs/configuration.md#fleetyaml), with the snake_case names of the file. Problems that
 * span several keys (a missing server, an open bind, two peers at one address) are reported in the same pass.
 */
export const FleetConfigSchema = z
  .strictObject({ fleet: Fleet })
  .superRefine((value, ctx) => crossCheck(value, ctx), { when: () => true });

export type FleetConfig = z.output<typeof FleetConfigSchema>;
