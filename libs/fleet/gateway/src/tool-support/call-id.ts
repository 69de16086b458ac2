import { createHash } from 'node:crypto';

const MAX_ID = 200;

/** The ID of the work that a tool call starts elsewhere. It is the same after a restart; a digest, where it is too long (docs/handshake.md#idempotency). */
export function callId(taskId: string, key: string): string {
  const id = `${taskId}/${key}`;
  if (id.length <= MAX_ID) return id;
  return `part-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}
