import { z } from 'zod';
import { type Camel, camelize, snakeize } from './casing.ts';
import type { JsonObject } from './json.ts';
import { parseMessage } from './parse.ts';

export const ResultStatus = z.enum(['done', 'blocked', 'error', 'partial']);
export type ResultStatus = z.infer<typeof ResultStatus>;

export const UnmetKind = z.enum([
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
]);
export type UnmetKind = z.infer<typeof UnmetKind>;

const count = z.int().nonnegative();

const unmet = z.looseObject({
  kind: UnmetKind,
  name: z.string(),
  detail: z.string(),
  transient: z.boolean(),
});

const usage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_read_tokens: count.optional(),
  cache_write_tokens: count.optional(),
  delegated_tokens: count.optional(),
  model: z.string(),
  source: z.enum(['metered', 'estimated', 'reported']),
});

const evidence = z.looseObject({
  kind: z.enum(['command', 'reread', 'claimed', 'review']),
  detail: z.string(),
  exit_code: z.int().nullable().optional(),
  after_write: z.boolean().optional(),
});

/** One peer that was considered for an attempt, and why it was or was not chosen (design 2, Routing). */
const considered = z.looseObject({
  peer: z.string(),
  verdict: z.enum(['chosen', 'eligible', 'excluded']),
  score: z.number(),
  reasons: z.array(z.string()),
});

const attempt = z.looseObject({
  peer: z.string(),
  status: z.string(),
  reason: z.string().nullable().optional(),
  tokens_spent: count,
  started_at: z.string(),
  ended_at: z.string(),
  considered: z.array(considered).optional(),
});

const reasoned = z.looseObject({ status: ResultStatus, blocked_reason: z.string().nullable() });

/** Message 3 of the handshake: what became of the work. */
export const TaskResultWire = z
  .looseObject({
    type: z.literal('TASK_RESULT'),
    protocol_version: z.string().regex(/^\d+\.\d+$/, 'must be "major.minor", e.g. "2.0"'),
    task_id: z.string().min(1),
    status: ResultStatus,
    tokens_spent: count,
    next_steps: z.array(z.string()),
    blocked_reason: z.string().nullable(),
    artifacts: z.looseObject({ pr: z.string().nullable().optional(), files_changed: z.array(z.string()) }),
    usage: usage.optional(),
    unmet: z.array(unmet).optional(),
    evidence: z.array(evidence).optional(),
    executed_by: z.string().optional(),
    attempts: z.array(attempt).optional(),
    remaining: z.array(z.string()).optional(),
    error: z.looseObject({ code: z.string(), message: z.string(), retryable: z.boolean() }).optional(),
    duration_ms: z.number().nonnegative().optional(),
    output: z.unknown().optional(),
    text: z.string().optional(),
  })
  .refine((result) => (result.status === 'blocked') === (result.blocked_reason !== null), {
    path: ['blocked_reason'],
    message: 'is required when status is "blocked" and must be null otherwise',
    // Also beside other wrong fields, so that all are named at once.
    when: ({ value }) => reasoned.safeParse(value).success,
  });

export type TaskResult = Camel<z.output<typeof TaskResultWire>>;
export type Unmet = Camel<z.output<typeof unmet>>;
export type Usage = Camel<z.output<typeof usage>>;
export type Evidence = Camel<z.output<typeof evidence>>;
export type Attempt = Camel<z.output<typeof attempt>>;
export type AttemptConsidered = Camel<z.output<typeof considered>>;

/** Reads a TASK_RESULT from the wire; INVALID_PARAMS names every wrong field. */
export function decodeResult(wire: unknown): TaskResult {
  return camelize(TaskResultWire, parseMessage(TaskResultWire, wire));
}

export function encodeResult(result: TaskResult): JsonObject {
  return snakeize(TaskResultWire, result) as JsonObject;
}
