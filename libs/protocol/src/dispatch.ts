import { z } from 'zod';
import { type Camel, camelize, snakeize } from './casing.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { outputSchemaProblem } from './output-schema.ts';
import { parseMessage } from './parse.ts';

export const Priority = z.enum(['low', 'normal', 'high', 'urgent']);
export type Priority = z.infer<typeof Priority>;
export const ReplySchema = z.enum(['prose', 'structured', 'json']);
export type ReplySchema = z.infer<typeof ReplySchema>;
export const OnBlocked = z.enum(['reroute', 'queue', 'fail']);
export type OnBlocked = z.infer<typeof OnBlocked>;

/** The most profiles that one task may pass through (design 2, TASK_DISPATCH). */
export const MAX_PATH = 8;

const id = z.string().min(1).max(200);

const OutputSchema = z.record(z.string(), z.unknown()).superRefine((schema, ctx) => {
  const problem = isJsonObject(schema) ? outputSchemaProblem(schema) : 'must be a JSON object';
  if (problem !== undefined) ctx.addIssue({ code: 'custom', message: problem });
});

/** Message 2 of the handshake: the execution contract. */
export const TaskDispatchWire = z.looseObject({
  type: z.literal('TASK_DISPATCH'),
  protocol_version: z.string().regex(/^\d+\.\d+$/, 'must be "major.minor", e.g. "2.0"'),
  task: z.looseObject({
    task_id: id,
    priority: Priority.optional(),
    reply_schema: ReplySchema.optional(),
    token_budget: z.int().positive().optional(),
    output_schema: OutputSchema.optional(),
    write: z.boolean().optional(),
    parent: z.looseObject({ task_id: id, profile: id }).optional(),
    root_id: id.optional(),
    path: z.array(id).max(64).optional(),
  }),
  requirements: z
    .looseObject({
      required_mcp: z.array(z.string().min(1)).max(100).optional(),
      required_capabilities: z.array(z.string().min(1)).max(100).optional(),
      model_tier: z
        .looseObject({
          min: z.string().optional(),
          max: z.string().optional(),
          prefer: z.string().optional(),
        })
        .optional(),
      min_context_window: z.int().positive().optional(),
    })
    .optional(),
  deadline: z.iso.datetime({ offset: true }).optional(),
  brief: z.string().min(1),
  routing: z
    .looseObject({
      target: id.optional(),
      on_blocked: OnBlocked.optional(),
      max_attempts: z.int().min(1).max(20).optional(),
    })
    .optional(),
});

export type TaskDispatch = Camel<z.output<typeof TaskDispatchWire>>;

/** Reads a TASK_DISPATCH from the wire; INVALID_PARAMS names every wrong field. */
export function decodeDispatch(wire: unknown): TaskDispatch {
  return camelize(TaskDispatchWire, parseMessage(TaskDispatchWire, wire));
}

export function encodeDispatch(dispatch: TaskDispatch): JsonObject {
  return snakeize(TaskDispatchWire, dispatch) as JsonObject;
}

/** Whether the task changes the working tree (design 2: absent = true when a writing tool or nothing is required). */
export function isWriteTask(dispatch: TaskDispatch): boolean {
  if (dispatch.task.write !== undefined) return dispatch.task.write;
  const required = dispatch.requirements?.requiredCapabilities ?? [];
  return required.length === 0 || required.some((name) => WRITING.has(name));
}

const WRITING = new Set(['file', 'patch', 'terminal', 'write_file', 'edit_file', 'shell_exec']);
