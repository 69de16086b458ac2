import { z } from 'zod';
import { RESULT_STATUSES } from '../task-states-and-events.ts';
import type { Camel } from '../wire/casing.ts';
import { decodeWith, encodeWith } from '../wire/codec.ts';
import type { JsonObject } from '../wire/json.ts';
import { reported } from '../wire/reported.ts';
import { PROTOCOL_VERSION, ProtocolVersion } from '../wire/version.ts';

export const ResultStatus = z.enum(RESULT_STATUSES);
export type ResultStatus = z.infer<typeof ResultStatus>;

/** The kind of an unmet requirement (docs/handshake.md#admission). An unknown kind is read as `peer`. */
export const UnmetKind = reported(
  [
    'version',
    'scope',
    'path',
    'deadline',
    'mcp',
    'capability',
    'tier',
    'context',
    'budget',
    'repo',
    'capacity',
    'peer',
  ],
  'peer',
);
export type UnmetKind = z.infer<typeof UnmetKind>;

const count = z.int().nonnegative();

/** Far above real results. Without a bound, rejecting a long list entry by entry takes seconds. */
const MAX_FILES = 100_000;
const MAX_ENTRIES = 10_000;
const MAX_ATTEMPTS = 200;
const lines = z.array(z.string()).max(MAX_ENTRIES);

const unmet = z.looseObject({
  kind: UnmetKind.describe('Kind of the requirement'),
  name: z.string().describe('Name of the requirement'),
  detail: z.string().describe('Readable explanation'),
  transient: z.boolean().describe('True if waiting may help'),
});

const usage = z.looseObject({
  input_tokens: count.describe('Own input tokens, without delegated ones'),
  output_tokens: count.describe('Own output tokens, without delegated ones'),
  cache_read_tokens: count
    .optional()
    .describe('Tokens read from the cache; not part of tokens_spent by default'),
  cache_write_tokens: count
    .optional()
    .describe('Tokens written to the cache; not part of tokens_spent by default'),
  reasoning_tokens: count
    .optional()
    .describe('Own output tokens that the model spent on reasoning, if its provider reports them'),
  delegated_tokens: count.optional().describe('Tokens that peers reported'),
  model: z.string().describe('Model that was used'),
  source: reported(['metered', 'estimated', 'reported'], 'reported').describe(
    "metered: the provider's count; estimated: our own count; reported: a peer's count",
  ),
});

const evidence = z.looseObject({
  kind: reported(['command', 'reread', 'claimed', 'review'], 'claimed').describe('Kind of verification'),
  detail: z.string().describe('The command, file or claim'),
  exit_code: z.int().nullable().optional().describe('Exit code of a command'),
  after_write: z.boolean().optional().describe('True if it came after the last write'),
});

/** A peer that routing considered for an attempt (docs/handshake.md#routing). */
const considered = z.looseObject({
  peer: z.string().describe('Name of the peer'),
  verdict: reported(['chosen', 'eligible', 'excluded'], 'excluded').describe('Verdict of routing'),
  score: z.number().describe('Score of the peer; higher is better'),
  reasons: lines.describe('Reasons for the verdict and the score'),
});

const attempt = z.looseObject({
  peer: z.string().describe('Worker that was asked'),
  status: z.string().describe('Status of its result, or unreachable'),
  reason: z.string().nullable().optional().describe('Reason for the refusal or the failure'),
  tokens_spent: count.describe('Tokens that it reported'),
  started_at: z.string().describe('Start of the attempt'),
  ended_at: z.string().describe('End of the attempt'),
  peer_task_id: z.string().optional().describe('Id of the task at the worker'),
  considered: z
    .array(considered)
    .max(MAX_ATTEMPTS)
    .optional()
    .describe('Every peer that routing considered, best first'),
});

const delivery = z.looseObject({
  repository: z
    .string()
    .nullable()
    .describe("Name of the repository, null for one of the worker's own without a name"),
  branch: z.string().describe('Branch of the result, in the repository of the worker'),
  commit: z.string().nullable().describe('Last commit of the result, null if its files are not committed'),
  base: z
    .string()
    .nullable()
    .describe('Commit that the task began from, null if there is none to compare with'),
  state: reported(['kept'], 'kept').describe('kept: the result is with the worker, and nothing is pushed'),
});

const artifacts = z.looseObject({
  pr: z.string().nullable().optional().describe('Pull request'),
  delivery: delivery.optional().describe('Where the changed files are'),
  files_changed: z
    .array(z.string())
    .max(MAX_FILES)
    .describe('Files changed since the task began, as git reports them'),
});

const failure = z.looseObject({
  code: z.string().describe('Error code'),
  message: z.string().describe('What failed, and what to do about it'),
  retryable: z.boolean().describe('True if the same dispatch may succeed later'),
});

const statusAndReason = z.looseObject({ status: ResultStatus, blocked_reason: z.string().nullable() });

/** Message 3 of the handshake: the outcome of the work (docs/handshake.md#task_result). */
export const TaskResultWire = z
  .looseObject({
    type: z.literal('TASK_RESULT').describe('Type of the message'),
    protocol_version: ProtocolVersion.describe('Version of the message'),
    task_id: z.string().min(1).describe("The caller's name for the task"),
    status: ResultStatus.describe('Outcome of the task'),
    tokens_spent: count.describe('Metered input plus output tokens, own and delegated'),
    next_steps: lines.describe('Suggested next steps'),
    blocked_reason: z.string().nullable().describe('One readable line if blocked, else null'),
    artifacts: artifacts.describe('Products of the work'),
    usage: usage.optional().describe('Breakdown of the tokens'),
    unmet: z.array(unmet).max(MAX_ENTRIES).optional().describe('Every unmet requirement'),
    evidence: z.array(evidence).max(MAX_ENTRIES).optional().describe('Verification of the work'),
    executed_by: z.string().optional().describe('Profile that did the work'),
    context_fresh: z
      .boolean()
      .optional()
      .describe('True if the workspace and conversation of the context are with another worker'),
    attempts: z.array(attempt).max(MAX_ATTEMPTS).optional().describe('Every worker that was asked'),
    remaining: lines.optional().describe('Remaining work, if partial'),
    error: failure.optional().describe('The failure, if the status is error'),
    duration_ms: z.number().nonnegative().optional().describe('Duration of the run, in milliseconds'),
    output: z.unknown().optional().describe('JSON value for reply_schema json'),
    text: z.string().optional().describe('Text of the agent'),
  })
  .refine((result) => (result.status === 'blocked') === (result.blocked_reason !== null), {
    path: ['blocked_reason'],
    message: 'is required when status is "blocked" and must be null otherwise',
    // Runs although other fields are invalid: one error names them all.
    when: ({ value }) => statusAndReason.safeParse(value).success,
  })
  .meta({
    title: 'TASK_RESULT',
    description: 'The outcome of the work',
    // The refinement above as JSON Schema.
    if: { properties: { status: { const: 'blocked' } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { properties: { blocked_reason: { type: 'string' } } },
    else: { properties: { blocked_reason: { type: 'null' } } },
  });

export type TaskResult = Camel<z.output<typeof TaskResultWire>>;
export type Unmet = Camel<z.output<typeof unmet>>;
export type Usage = Camel<z.output<typeof usage>>;
export type Delivery = Camel<z.output<typeof delivery>>;
export type Evidence = Camel<z.output<typeof evidence>>;
export type Attempt = Camel<z.output<typeof attempt>>;
export type AttemptConsidered = Camel<z.output<typeof considered>>;

/** The required fields of a TASK_RESULT except its status: no tokens, no files, no next steps. */
export const bareResult = (taskId: string) => ({
  type: 'TASK_RESULT' as const,
  protocolVersion: PROTOCOL_VERSION,
  taskId,
  tokensSpent: 0,
  nextSteps: [] as string[],
  blockedReason: null,
  artifacts: { filesChanged: [] as string[] },
});

/** Decodes a TASK_RESULT; INVALID_PARAMS names every invalid field. */
export function decodeResult(wire: unknown): TaskResult {
  return decodeWith(TaskResultWire, wire);
}

export function encodeResult(result: TaskResult): JsonObject {
  return encodeWith(TaskResultWire, result);
}
