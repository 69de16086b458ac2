import type { ReplySchema } from '../handshake/dispatch.ts';
import { PROTOCOL_VERSION } from '../wire/version.ts';

/**
 * The instructions at the end of a brief for an agent that does not know the handshake (docs/handshake.md#to-a-prose-peer).
 * Their JSON shape is not a valid TASK_RESULT, so that an agent that repeats it has reported nothing.
 */
export function reportInstructions(taskId: string, replySchema: ReplySchema): string {
  const id = JSON.stringify(taskId);
  return [
    'When the work is over, end your reply with a TASK_RESULT: one JSON object of this shape, in a code fence of its own.',
    '```json',
    '{',
    `  "type": "TASK_RESULT", "protocol_version": "${PROTOCOL_VERSION}", "task_id": ${id},`,
    '  "status": "<done, partial, blocked or error>", "tokens_spent": "<the tokens that you used, as a number; 0 when you do not know>",',
    '  "next_steps": ["<what should follow>"], "blocked_reason": "<why the work could not start; null unless blocked>",',
    `  "artifacts": {"pr": "<its address, or null>", "files_changed": ["<path>"]}${replySchema === 'json' ? ',' : ''}`,
    ...(replySchema === 'json' ? ['  "output": "<the JSON value that was asked for>"'] : []),
    '}',
    '```',
    'With status partial add "remaining": ["<what is left>"]; with status error add "error": {"code": "<a word>", "message": "<what happened>", "retryable": false}.',
  ].join('\n');
}

/** Removes the instructions from the end of a brief; undefined if they are not there. */
export function stripReportInstructions(
  brief: string,
  taskId: string,
  replySchema: ReplySchema,
): string | undefined {
  const text = brief.trimEnd();
  const closing = `\n\n${reportInstructions(taskId, replySchema)}`;
  for (const end of [closing, closing.replaceAll('\n', '\r\n')])
    if (text.endsWith(end)) return text.slice(0, -end.length);
  return undefined;
}
