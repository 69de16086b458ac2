export type DispatchKind = 'dispatch' | 'blocked';

const BRIEF = 'Say what the fleet does when a worker is full. '.repeat(4);
const MEDIA_TYPE = 'application/vnd.hermes.handshake+json';
const [TASK_ID, MESSAGE_ID] = ['<task id>', '<message id>'];

/** A function that makes the body of a dispatch from its two ids, between parts that are built once. */
export function requestBody(kind: DispatchKind): (taskId: string, messageId: string) => string {
  const dispatch = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: TASK_ID, reply_schema: 'prose' },
    ...(kind === 'blocked' ? { requirements: { required_mcp: ['nope'] } } : {}),
    brief: BRIEF,
  };
  const message = {
    messageId: MESSAGE_ID,
    role: 'ROLE_USER',
    parts: [{ data: dispatch, mediaType: MEDIA_TYPE }],
  };
  const whole = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } });
  const [head, rest = ''] = whole.split(MESSAGE_ID);
  const [middle, tail] = rest.split(TASK_ID);
  return (taskId, messageId) => `${head}${messageId}${middle}${taskId}${tail}`;
}
