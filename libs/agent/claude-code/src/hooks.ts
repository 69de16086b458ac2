import { z } from 'zod';
import type { HookAnswer } from './sdk-types.ts';

/** A tool call of the model. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

const HookInput = z.looseObject({
  tool_name: z.string(),
  tool_input: z.unknown().optional(),
  tool_use_id: z.string(),
  tool_response: z.unknown().optional(),
  error: z.string().optional(),
});

/** The input of the PreToolUse, PostToolUse and PostToolUseFailure hooks. */
export type ToolHookInput = ReturnType<typeof readToolHook>;

export function readToolHook(raw: unknown) {
  const { tool_name: name, tool_use_id: id, tool_input: input, tool_response, error } = HookInput.parse(raw);
  const call: ToolUse = { id, name, input };
  return { call, response: tool_response, error: error ?? '' };
}

const StopInput = z.looseObject({ last_assistant_message: z.string().optional() });

/** Returns the model's last message. */
export const readStopHook = (raw: unknown): string => StopInput.parse(raw).last_assistant_message ?? '';

/** Refuses a call. */
export const denyCall = (reason: string): HookAnswer => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
  },
});

/** Adds notes to a call's result, and replaces its output if `updatedToolOutput` is given. */
export function annotateCall(
  hookEventName: 'PostToolUse' | 'PostToolUseFailure',
  notes: readonly string[],
  updatedToolOutput?: unknown,
): HookAnswer {
  const additionalContext = notes.length > 0 ? { additionalContext: notes.join('\n') } : {};
  const updated = updatedToolOutput === undefined ? {} : { updatedToolOutput };
  return { hookSpecificOutput: { hookEventName, ...additionalContext, ...updated } };
}
