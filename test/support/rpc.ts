import { randomUUID } from 'node:crypto';

type Json = Record<string, unknown>;

export interface RpcReply {
  readonly status: number;
  readonly headers: Headers;
  // The reply is whatever the server under test says: each test looks at the fields that it is about.
  // biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
  readonly body: any;
}

/** Where and as whom a test talks to a service. */
export interface Target {
  readonly url: string;
  readonly token: string | undefined;
}

/** Posts a body unchanged to `/jsonrpc`. */
export async function post(
  target: Target,
  body: string,
  headers: Record<string, string> = {},
): Promise<RpcReply> {
  const response = await fetch(`${target.url}/jsonrpc`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }),
      ...headers,
    },
    body,
    signal: AbortSignal.timeout(120_000),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text.trim() === '' ? undefined : JSON.parse(text),
  };
}

/** Calls a JSON-RPC method. */
export function call(
  target: Target,
  method: string,
  params: Json,
  headers: Record<string, string> = {},
): Promise<RpcReply> {
  return post(target, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers);
}

export interface DispatchOptions {
  readonly taskId?: string;
  readonly brief: string;
  readonly task?: Json;
  readonly requirements?: Json;
  readonly routing?: Json;
  readonly deadline?: string;
}

/** A TASK_DISPATCH, as a caller writes it. */
export function dispatch(options: DispatchOptions): Json {
  return {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: options.taskId ?? randomUUID(), reply_schema: 'structured', ...options.task },
    ...(options.requirements ? { requirements: options.requirements } : {}),
    ...(options.deadline ? { deadline: options.deadline } : {}),
    brief: options.brief,
    ...(options.routing ? { routing: options.routing } : {}),
  };
}

/** The params of a SendMessage that carries one handshake message. */
export function message(data: Json, options: { contextId?: string; returnImmediately?: boolean } = {}): Json {
  return {
    message: {
      messageId: randomUUID(),
      role: 'ROLE_USER',
      ...(options.contextId ? { contextId: options.contextId } : {}),
      parts: [{ data, mediaType: 'application/vnd.hermes.handshake+json' }],
    },
    ...(options.returnImmediately ? { configuration: { returnImmediately: true } } : {}),
  };
}

/** The params of a SendMessage that carries plain text. */
export function textMessage(text: string, contextId?: string): Json {
  return {
    message: {
      messageId: randomUUID(),
      role: 'ROLE_USER',
      ...(contextId ? { contextId } : {}),
      parts: [{ text }],
    },
  };
}

/** The TASK_RESULT in an artifact of a Task. */
// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
export function resultOf(task: any, name = 'task-result'): any {
  // biome-ignore lint/suspicious/noExplicitAny: see RpcReply
  const artifact = task?.artifacts?.find((one: any) => one.name === name);
  // biome-ignore lint/suspicious/noExplicitAny: see RpcReply
  return artifact?.parts.find((part: any) => part.data)?.data;
}

/** A brief that the offline runbook carries out: writes a file, and runs commands. */
export function runbook(file: string, content: string, ...commands: string[]): string {
  return [
    `Write ${file} and check it.`,
    '',
    `\`\`\`${file}`,
    content,
    '```',
    '',
    '```sh',
    ...commands,
    '```',
  ].join('\n');
}
