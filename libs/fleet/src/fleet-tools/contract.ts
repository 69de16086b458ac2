import { OnBlocked, Priority, ReplySchema } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { Handed } from './hand-over.ts';

const names = z.array(z.string().min(1).max(200)).max(50);

const requirements = z.strictObject({
  required_mcp: names.optional(),
  required_capabilities: names.optional(),
  model_tier: z
    .strictObject({ min: z.string().optional(), max: z.string().optional(), prefer: z.string().optional() })
    .optional(),
  min_context_window: z.int().positive().optional(),
});

/** What a model may ask of a peer; the words are those of a TASK_DISPATCH. Kept short: it is paid for at every step. */
export const CONTRACT = {
  agent: z.string().min(1).max(200).default('auto').describe("A peer's name, or auto: whoever suits best"),
  requirements: requirements.optional(),
  token_budget: z.int().positive().optional().describe('Default: half of what is left'),
  priority: Priority.optional(),
  write: z.boolean().optional().describe('Whether it changes files'),
};

/** Of a part that is really sent. */
export const SENT = {
  ...CONTRACT,
  brief: z
    .string()
    .min(1)
    .max(200_000)
    .describe('All that it needs to know: it sees nothing else of your task'),
  reply_schema: ReplySchema.optional(),
  output_schema: z.record(z.string(), z.json()).optional().describe('JSON Schema of a json reply'),
  on_blocked: OnBlocked.optional().describe('Default: reroute with auto, fail with a name'),
};

const Sent = z.strictObject(SENT);

/** The work as the hand-over takes it. */
export function handedOf(sent: Partial<z.output<typeof Sent>> & { agent: string; brief: string }): Handed {
  const { model_tier: tier, ...required } = sent.requirements ?? {};
  return {
    agent: sent.agent,
    brief: sent.brief,
    requirements: sent.requirements && {
      ...defined(required),
      ...(tier ? { model_tier: defined(tier) } : {}),
    },
    tokenBudget: sent.token_budget,
    priority: sent.priority,
    replySchema: sent.reply_schema,
    outputSchema: sent.output_schema,
    write: sent.write,
    onBlocked: sent.on_blocked,
  };
}

/** Without the keys that hold nothing, which no JSON can carry. */
function defined<T>(fields: Readonly<Record<string, T | undefined>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  );
}
