import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { z } from 'zod';

const ChatRequest = z.looseObject({
  model: z.string(),
  max_tokens: z.int(),
  messages: z.array(z.looseObject({ role: z.string() })),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
  tool_choice: z.unknown().optional(),
});
export type ChatRequest = z.output<typeof ChatRequest>;

interface ToolCall {
  readonly index: number;
  readonly id?: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}
export type Delta = { content?: string; tool_calls?: ToolCall[] };
export type Reply =
  | { deltas: Delta[]; finish: string; usage?: object }
  | { status: number; body: string; headers?: Record<string, string> }
  /** Sends the deltas, and then nothing more; cuts the connection; or ends without a finish reason. */
  | { hang: true; deltas: Delta[] }
  | { cut: true; deltas: Delta[] }
  | { unfinished: true; deltas: Delta[] };

/** Closes what it is given: a test, at its end. */
export interface Closer {
  after(close: () => void): void;
}

/** A loopback server for the chat completions API. A script answers; `models` is the list of models. */
export async function scriptedServer(
  t: Closer,
  script: (call: number, request: ChatRequest) => Reply | Promise<Reply>,
  models: object = { object: 'list', data: [] },
) {
  const requests: ChatRequest[] = [];
  const keys: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(models));
      return;
    }
    keys.push(request.headers.authorization);
    const body = ChatRequest.parse(JSON.parse(await text(request)));
    requests.push(body);
    const reply = await script(requests.length, body);
    if ('status' in reply) {
      response.writeHead(reply.status, reply.headers).end(reply.body);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const id = `chatcmpl-${requests.length}`;
    const send = (rest: object): void => {
      response.write(
        `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: 1, model: 'm', ...rest })}\n\n`,
      );
    };
    for (const delta of reply.deltas)
      send({ choices: [{ index: 0, delta: withIds(delta, requests.length) }] });
    if ('hang' in reply) return;
    if ('cut' in reply) return void setImmediate(() => response.destroy());
    if ('unfinished' in reply) return void response.end();
    send({ choices: [{ index: 0, delta: {}, finish_reason: reply.finish }] });
    if (reply.usage) send({ choices: [], usage: reply.usage });
    response.end('data: [DONE]\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { url: `http://127.0.0.1:${address.port}/v1`, requests, keys };
}

async function text(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}

/** Gives calls without an id one that is unique in the conversation. */
const withIds = ({ tool_calls: calls, ...delta }: Delta, turn: number): Delta =>
  calls === undefined
    ? delta
    : { ...delta, tool_calls: calls.map((one) => ({ id: `call-${turn}-${one.index}`, ...one })) };

const toolCall = (index: number, name: string, args: object): ToolCall => ({
  index,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

/** A tool call, as a delta of an answer. */
export const call = (id: string, name: string, args: object): Delta => ({
  tool_calls: [{ ...toolCall(0, name, args), id }],
});

/** A text answer, streamed a few characters at a time, a long one in 128 pieces: each piece costs a millisecond. */
export function say(text: string, usage?: object): Reply {
  const size = Math.max(12, Math.ceil(text.length / 128));
  const deltas = Array.from({ length: Math.ceil(text.length / size) }, (_, at) => ({
    content: text.slice(at * size, (at + 1) * size),
  }));
  return { deltas, finish: 'stop', ...(usage ? { usage } : {}) };
}

/** An answer that calls tools, all in one message. */
export const use = (calls: readonly [name: string, args: object][], usage?: object): Reply => ({
  deltas: calls.map(([name, args], index) => ({ tool_calls: [toolCall(index, name, args)] })),
  finish: 'tool_calls',
  ...(usage ? { usage } : {}),
});

/** The text of the last message in a request. */
export function asked(request: ChatRequest): string {
  const last = request.messages.at(-1);
  return typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content);
}

export const KEYED = { model: 'openai-compatible/m', api_key_env: 'MODEL_KEY' };
export const env = {
  read: (name: string): string | undefined => (name === 'MODEL_KEY' ? 'key-1' : undefined),
};
