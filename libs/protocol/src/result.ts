import { z } from 'zod';
import type { Camel } from './casing.ts';
import { decodeWith, encodeWith } from './codec.ts';
import type { JsonObject } from './json.ts';
import { reported } from './reported.ts';
import { PROTOCOL_VERSION, ProtocolVersion } from './version.ts';

export const ResultStatus = z.enum(['done', 'blocked', 'error', 'partial']);
export type ResultStatus = z.infer<typeof ResultStatus>;

/** Why a task was not taken; a kind that is not in the list is about a peer, as far as we can tell. */
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

/** Far more than work ever leaves: a list that is longer costs seconds to be refused, entry by entry. */
const MAX_FILES = 100_000;
const MAX_ENTRIES = 10_000;
const MAX_ATTEMPTS = 200;
const lines = z.array(z.string()).max(MAX_ENTRIES);

const unmet = z.looseObject({
  kind: UnmetKind.describe('What kind of requirement'),
  name: z.string().describe('Which one'),
  detail: z.string().describe('In words'),
  transient: z.boolean().describe('Whether waiting may help'),
});

const usage = z.looseObject({
  input_tokens: count.describe('Own only'),
  output_tokens: count.describe('Own only'),
  cache_read_tokens: count.optional().describe('Read from the cache; not part of tokens_spent by default'),
  cache_write_tokens: count.optional().describe('Written to the cache; not part of tokens_spent by default'),
  delegated_tokens: count.optional().describe('What peers reported'),
  model: z.string().describe('The model that was used'),
  source: reported(['metered', 'estimated', 'reported'], 'reported').describe(
    "The provider's figures, our own count, or a peer's word",
  ),
});

const evidence = z.looseObject({
  kind: reported(['command', 'reread', 'claimed', 'review'], 'claimed').describe('How it was verified'),
  detail: z.string().describe('What was run, read or claimed'),
  exit_code: z.int().nullable().optional().describe('Of a command'),
  after_write: z.boolean().optional().describe('Whether it came after the last write'),
});

/** One peer that was considered for an attempt, and why it was or was not chosen (design 2, Routing). */
const considered = z.looseObject({
  peer: z.string().describe('Its name'),
  verdict: reported(['chosen', 'eligible', 'excluded'], 'excluded').describe('What routing made of it'),
  score: z.number().describe('Higher is better'),
  reasons: lines.describe('Why'),
});

const attempt = z.looseObject({
  peer: z.string().describe('The worker that was asked'),
  status: z.string().describe("A result's status, or unreachable"),
  reason: z.string().nullable().optional().describe('Why it did not take the work, or what failed'),
  tokens_spent: count.describe('What it reported'),
  started_at: z.string().describe('When it was asked'),
  ended_at: z.string().describe('When it was over'),
  considered: z
    .array(considered)
    .max(MAX_ATTEMPTS)
    .optional()
    .describe('Every peer that routing looked at, best first'),
});

const artifacts = z.looseObject({
  pr: z.string().nullable().optional().describe('A pull request'),
  files_changed: z.array(z.string()).max(MAX_FILES).describe('As git sees it, since the task began'),
});

const failure = z.looseObject({
  code: z.string().describe('What failed, in one word'),
  message: z.string().describe('What failed, and what to do about it'),
  retryable: z.boolean().describe('Whether the same dispatch may succeed later'),
});

const reasoned = z.looseObject({ status: ResultStatus, blocked_reason: z.string().nullable() });

/** Message 3 of the handshake: what became of the work. */
export const TaskResultWire = z
  .looseObject({
    type: z.literal('TASK_RESULT').describe('Tells the three messages apart'),
    protocol_version: ProtocolVersion.describe('The version of this message'),
    task_id: z.string().min(1).describe("The caller's"),
    status: ResultStatus.describe('What became of it'),
    tokens_spent: count.describe('Input plus output, own and delegated, by the meter'),
    next_steps: lines.describe('What could follow'),
    blocked_reason: z.string().nullable().describe('One readable line when blocked, null otherwise'),
    artifacts: artifacts.describe('What there is to show'),
    usage: usage.optional().describe('How the tokens were spent'),
    unmet: z.array(unmet).max(MAX_ENTRIES).optional().describe('Everything that stood in the way'),
    evidence: z.array(evidence).max(MAX_ENTRIES).optional().describe('What was run to verify'),
    executed_by: z.string().optional().describe('The profile that did the work'),
    attempts: z.array(attempt).max(MAX_ATTEMPTS).optional().describe('Each worker that was asked'),
    remaining: lines.optional().describe('What is left to do, when partial'),
    error: failure.optional().describe('What went wrong, when the status is error'),
    duration_ms: z.number().nonnegative().optional().describe('Of the run, milliseconds'),
    output: z.unknown().optional().describe('The JSON value that reply_schema json asked for'),
    text: z.string().optional().describe("The agent's own words"),
  })
  .refine((result) => (result.status === 'blocked') === (result.blocked_reason !== null), {
    path: ['blocked_reason'],
    message: 'is required when status is "blocked" and must be null otherwise',
    // Also beside other wrong fields, so that all are named at once.
    when: ({ value }) => reasoned.safeParse(value).success,
  })
  .meta({
    title: 'TASK_RESULT',
    description: 'What became of the work',
    // The refinement above, for the generated JSON Schema.
    if: { properties: { status: { const: 'blocked' } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { properties: { blocked_reason: { type: 'string' } } },
    else: { properties: { blocked_reason: { type: 'null' } } },
  });

export type TaskResult = Camel<z.output<typeof TaskResultWire>>;
export type Unmet = Camel<z.output<typeof unmet>>;
export type Usage = Camel<z.output<typeof usage>>;
export type Evidence = Camel<z.output<typeof evidence>>;
export type Attempt = Camel<z.output<typeof attempt>>;
export type AttemptConsidered = Camel<z.output<typeof considered>>;

/** What a TASK_RESULT says before there is anything to say: nothing spent, nothing changed, nothing left to do. */
export const bareResult = (taskId: string) => ({
  type: 'TASK_RESULT' as const,
  protocolVersion: PROTOCOL_VERSION,
  taskId,
  tokensSpent: 0,
  nextSteps: [] as string[],
  blockedReason: null,
  artifacts: { filesChanged: [] as string[] },
});

/** Reads a TASK_RESULT from the wire; INVALID_PARAMS names every wrong field. */
export function decodeResult(wire: unknown): TaskResult {
  return decodeWith(TaskResultWire, wire);
}

export function encodeResult(result: TaskResult): JsonObject {
  return encodeWith(TaskResultWire, result);
}
