import type { ToolCall } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { callId } from '../tool-support/call-id.ts';

const CallState = z.object({
  contextId: z.string(),
  /** The agent's task, once it is known. */
  taskId: z.string().optional(),
});

/** The durable state of a tool call. Its existence means that the message may have been sent. */
export type CallState = z.output<typeof CallState>;

export function loadCallState({ memo }: Pick<ToolCall, 'memo'>): CallState | undefined {
  const value = memo.load();
  return value === undefined ? undefined : CallState.parse(value);
}

/** Durable when it resolves. */
export async function saveCallState({ memo }: Pick<ToolCall, 'memo'>, state: CallState): Promise<void> {
  const { contextId, taskId } = state;
  await memo.save({ contextId, ...(taskId === undefined ? {} : { taskId }) });
}

/** The ID of a call's message: unique to the call, and the same after a restart. */
export function messageIdOf({ task, key }: Pick<ToolCall, 'task' | 'key'>): string {
  return callId(task.id, key);
}
