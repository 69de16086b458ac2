import { definedFields } from '@hermes-fleet/protocol';
import { OnBlocked, Priority, ReplySchema, type RequirementsWire } from '@hermes-fleet/protocol/handshake';
import { z } from 'zod';
import type { SubtaskRequest } from './subtask.ts';

const names = z.array(z.string().min(1).max(200)).max(50);

const requirements = z.strictObject({
  required_mcp: names.optional(),
  required_capabilities: names.optional(),
  model_tier: z
    .strictObject({ min: z.string().optional(), max: z.string().optional(), prefer: z.string().optional() })
    .optional(),
  min_context_window: z.int().positive().optional(),
} satisfies Record<keyof typeof RequirementsWire.shape, z.ZodType>);

/** The input of `fleet_route`, in the terms of a TASK_DISPATCH. Descriptions are short: every step pays for them. */
export const ROUTE_INPUT = {
  agent: z.string().min(1).max(200).default('auto').describe("A peer's name, or auto: whoever suits best"),
  requirements: requirements.optional(),
  token_budget: z.int().positive().optional().describe('Default: half of what is left'),
  priority: Priority.optional(),
  write: z.boolean().optional().describe('Whether it changes files'),
};

/** The input of `fleet_send`. */
export const SEND_INPUT = {
  ...ROUTE_INPUT,
  brief: z.string().min(1).max(200_000).describe('All that it needs to know: it sees only what you send it'),
  fresh: z.boolean().optional().describe('True: it forgets what you sent it before'),
  reply_schema: ReplySchema.optional(),
  output_schema: z.record(z.string(), z.json()).optional().describe('JSON Schema of a json reply'),
  on_blocked: OnBlocked.optional().describe('Default: reroute with auto, fail with a name'),
};

const SendInput = z.strictObject(SEND_INPUT);

export function subtaskRequest(
  input: Partial<z.output<typeof SendInput>> & { agent: string; brief: string },
): SubtaskRequest {
  const { model_tier: tier, ...required } = input.requirements ?? {};
  return {
    agent: input.agent,
    brief: input.brief,
    requirements: input.requirements && {
      ...definedFields(required),
      ...(tier ? { model_tier: definedFields(tier) } : {}),
    },
    tokenBudget: input.token_budget,
    priority: input.priority,
    replySchema: input.reply_schema,
    outputSchema: input.output_schema,
    write: input.write,
    fresh: input.fresh,
    onBlocked: input.on_blocked,
  };
}
