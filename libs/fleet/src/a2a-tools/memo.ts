import type { ToolCall } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { partId } from '../fleet-tools/part.ts';

const Memo = z.object({
  contextId: z.string(),
  /** The agent's task, once it is known. */
  taskId: z.string().optional(),
});

/** What a call has to know after a restart; that it exists means that its message may have been sent. */
export type Memo = z.output<typeof Memo>;

export function loadMemo({ memo }: Pick<ToolCall, 'memo'>): Memo | undefined {
  const value = memo.load();
  return value === undefined ? undefined : Memo.parse(value);
}

/** Durable when it resolves. */
export async function saveMemo({ memo }: Pick<ToolCall, 'memo'>, value: Memo): Promise<void> {
  const { contextId, taskId } = value;
  await memo.save({ contextId, ...(taskId === undefined ? {} : { taskId }) });
}

/** The message of a call: the same after a restart, and of no other call. */
export function messageIdOf({ task, key }: Pick<ToolCall, 'task' | 'key'>): string {
  return partId(task.id, key);
}
