import { z } from 'zod';
import type { Camel } from './casing.ts';
import { decodeWith, encodeWith } from './codec.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { outputSchemaProblem } from './output-schema.ts';
import { ProtocolVersion } from './version.ts';

export const Priority = z.enum(['low', 'normal', 'high', 'urgent']);
export type Priority = z.infer<typeof Priority>;
export const ReplySchema = z.enum(['prose', 'structured', 'json']);
export type ReplySchema = z.infer<typeof ReplySchema>;
export const OnBlocked = z.enum(['reroute', 'queue', 'fail']);
export type OnBlocked = z.infer<typeof OnBlocked>;

/** The most profiles that one task may pass through (design 2, TASK_DISPATCH). */
export const MAX_PATH = 8;

const id = z.string().min(1).max(200);
const names = z.array(z.string().min(1)).max(100);

const OutputSchema = z.record(z.string(), z.unknown()).superRefine((schema, ctx) => {
  const problem = isJsonObject(schema) ? outputSchemaProblem(schema) : 'must be a JSON object';
  if (problem !== undefined) ctx.addIssue({ code: 'custom', message: problem });
});

const parent = z.looseObject({
  task_id: id.describe('Its task_id'),
  profile: id.describe('The profile that delegated it'),
});

const task = z.looseObject({
  task_id: id.describe("The caller's name for the task: the same name and contract are the same task"),
  priority: Priority.optional().describe('Order in the queue and depth of verification; normal when absent'),
  reply_schema: ReplySchema.optional().describe('What the reply must be; prose when absent'),
  token_budget: z.int().positive().optional().describe('A ceiling on input plus output tokens'),
  output_schema: OutputSchema.optional().describe(
    'JSON Schema 2020-12 of at most 32 KiB for the output of a json reply; one that cannot be used is refused',
  ),
  write: z
    .boolean()
    .optional()
    .describe('Whether it changes files; absent: where file, patch, terminal or nothing is required'),
  parent: parent.optional().describe('The task that this one is a part of'),
  root_id: id.optional().describe('The first task of the chain'),
  path: z.array(id).max(64).optional().describe('The profiles that it came through; at most 8, none twice'),
});

const modelTier = z.looseObject({
  min: z.string().optional().describe('The lowest tier that will do'),
  max: z.string().optional().describe('The highest tier that may be used'),
  prefer: z.string().optional().describe('A wish, not a condition'),
});

const requirements = z.looseObject({
  required_mcp: names.optional().describe('MCP servers that must be healthy'),
  required_capabilities: names.optional().describe('Capabilities that must be there'),
  model_tier: modelTier.optional().describe('The range of tiers'),
  min_context_window: z.int().positive().optional().describe('Tokens'),
});

const routing = z.looseObject({
  target: id.optional().describe("A peer's name, or auto"),
  on_blocked: OnBlocked.optional().describe('What to do when a worker refuses'),
  max_attempts: z.int().min(1).max(20).optional().describe('How many workers are asked'),
});

/** Message 2 of the handshake: the execution contract. */
export const TaskDispatchWire = z
  .looseObject({
    type: z.literal('TASK_DISPATCH').describe('Tells the three messages apart'),
    protocol_version: ProtocolVersion.describe('The version of this message'),
    task: task.describe('The contract'),
    requirements: requirements.optional().describe('What must be there before a token is spent'),
    deadline: z.iso.datetime({ offset: true }).optional().describe('When it must be done, with offset'),
    brief: z.string().min(1).describe('What to do'),
    routing: routing.optional().describe('Who is to do it'),
  })
  .meta({ title: 'TASK_DISPATCH', description: 'Work under a contract' });

export type TaskDispatch = Camel<z.output<typeof TaskDispatchWire>>;

/** Reads a TASK_DISPATCH from the wire; INVALID_PARAMS names every wrong field. */
export function decodeDispatch(wire: unknown): TaskDispatch {
  return decodeWith(TaskDispatchWire, wire);
}

export function encodeDispatch(dispatch: TaskDispatch): JsonObject {
  return encodeWith(TaskDispatchWire, dispatch);
}

/** Whether the task changes the working tree (design 2: absent = true when a writing tool or nothing is required). */
export function isWriteTask(dispatch: TaskDispatch): boolean {
  if (dispatch.task.write !== undefined) return dispatch.task.write;
  const required = dispatch.requirements?.requiredCapabilities ?? [];
  return required.length === 0 || required.some((name) => WRITING.has(name));
}

const WRITING = new Set(['file', 'patch', 'terminal', 'write_file', 'edit_file', 'shell_exec']);
