import { createHash } from 'node:crypto';

const MAX_ID = 200;

/** The ID of the work that a tool call starts elsewhere. It is the same after a restart (docs/handshake.md#idempotency). */
export function callId(taskId: string, key: string): string {
  return boundedId(`${taskId}/${key}`);
}

/** The context of the subtasks that 0.1.0 delegated for tasks of a context, those of all its callers. */
export function oldSubtasksContextId(contextId: string, profile: string): string {
  return boundedId(`${contextId}/${profile}`);
}

/** The ID itself, or a digest of one that is too long. */
export function boundedId(id: string): string {
  if (id.length <= MAX_ID) return id;
  return `part-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}
