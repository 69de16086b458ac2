import { PROTOCOL_VERSION, type ReplySchema } from '@hermes-fleet/protocol';

/**
 * The end of a brief that goes to an agent which has never heard of the handshake: how to report (phase 3 of the
 * source). The shape is no valid TASK_RESULT itself, so that an agent which repeats it has reported nothing.
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

/** A brief without that end; undefined where it does not end with it. */
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
