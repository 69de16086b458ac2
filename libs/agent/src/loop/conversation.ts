import { FleetError, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import { type ModelMessage, modelMessageSchema } from 'ai';
import { z } from 'zod';
import type { ToolResult } from '../tools/tool.ts';

/** A tool call that has no result yet. */
export interface PendingCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

/** What a tool call did, for evidence and verification. */
const JournalEntry = z.object({
  tool: z.string(),
  ok: z.boolean(),
  detail: z.string().optional(),
  exit_code: z.int().nullable().optional(),
});
export type JournalEntry = z.output<typeof JournalEntry>;

const RunStateWire = z.object({
  version: z.literal(1),
  /** The commit that the task started from; empty without a workspace. */
  base: z.string(),
  step: z.int().nonnegative(),
  /** Why the model finished, once it has: a restart then only has to write the result. */
  finished: z.string().optional(),
  messages: z.array(modelMessageSchema),
  /** The run was paused before it started the calls that are pending: they can be carried out as they stand. */
  paused: z.boolean().optional(),
  journal: z.array(JournalEntry),
});

/** Where a run stands: all that a restart needs. */
export type RunState = z.output<typeof RunStateWire>;

/** Reads a checkpoint; INTERNAL when it is not one of ours. */
export function readCheckpoint(checkpoint: JsonObject): RunState {
  const parsed = RunStateWire.safeParse(checkpoint);
  if (parsed.success) return parsed.data;
  throw new FleetError('INTERNAL', 'the checkpoint of this task cannot be read by this version', {
    cause: parsed.error,
  });
}

export function writeCheckpoint(state: RunState): JsonObject {
  return z.record(z.string(), z.json()).parse(JSON.parse(JSON.stringify(state)));
}

/** The calls that the model made last and that nobody answered. */
export function pendingCalls(messages: readonly ModelMessage[]): PendingCall[] {
  const answered = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    for (const part of message.content) if (part.type === 'tool-result') answered.add(part.toolCallId);
  }
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (last?.role !== 'assistant' || typeof last.content === 'string') return [];
  return last.content.flatMap((part) =>
    part.type === 'tool-call' && !part.providerExecuted && !answered.has(part.toolCallId)
      ? [{ id: part.toolCallId, tool: part.toolName, input: part.input }]
      : [],
  );
}

/** The message that tells the model what came of a call. */
export function toolMessage(call: PendingCall, result: ToolResult): ModelMessage {
  return {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: call.id,
        toolName: call.tool,
        output: outputPart(result.ok, result.output),
      },
    ],
  };
}

function outputPart(ok: boolean, value: JsonValue) {
  if (typeof value === 'string') return { type: ok ? ('text' as const) : ('error-text' as const), value };
  return { type: ok ? ('json' as const) : ('error-json' as const), value };
}

/** The text of the last message of the model. */
export function lastText(messages: readonly ModelMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (last?.role !== 'assistant') return '';
  if (typeof last.content === 'string') return last.content;
  return last.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Estimates the tokens of a conversation; each message is counted once. */
export function createEstimator(): (fixed: string, messages: readonly ModelMessage[]) => Promise<number> {
  const known = new Map<unknown, number>();
  const count = async (key: unknown, text: string): Promise<number> => {
    const tokens = known.get(key) ?? (await countTokens(text));
    known.set(key, tokens);
    return tokens;
  };
  return async (fixed, messages) => {
    let sum = await count(fixed, fixed);
    for (const message of messages) sum += await count(message, JSON.stringify(message));
    return sum;
  };
}
