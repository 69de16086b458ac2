import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { z } from 'zod';

const Block = z.looseObject({ type: z.string() });
export type AnthropicBlock = z.output<typeof Block>;
const Content = z.union([z.string(), z.array(Block)]);

const MessagesRequest = z.looseObject({
  model: z.string(),
  max_tokens: z.int(),
  stream: z.boolean().default(false),
  system: Content.optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
  tool_choice: z.looseObject({ type: z.string() }).optional(),
});
export type MessagesRequest = z.output<typeof MessagesRequest>;

const CountRequest = MessagesRequest.omit({ max_tokens: true });

export interface AnthropicUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
}

/** One answer of the model. */
export interface AnthropicAnswer {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly (readonly [name: string, input: object])[];
  readonly usage?: AnthropicUsage;
  readonly stop?: 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal';
  /** Sends the content and then hangs. */
  readonly hang?: boolean;
  /** Ends the stream with this error after the content. */
  readonly breaksWith?: string;
}

/** A refusal in the provider's form. */
export interface AnthropicRefusal {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type AnthropicReply = AnthropicAnswer | AnthropicRefusal;

export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: MessagesRequest;
}

export interface AnthropicServer {
  /** Without `/v1`. */
  readonly url: string;
  /** The bodies of all model calls. */
  readonly requests: readonly MessagesRequest[];
  readonly received: readonly Received[];
  /** Requests for unknown paths. */
  readonly strays: readonly string[];
  /** The number of calls whose client disconnected before the end of the answer. */
  readonly abandoned: () => number;
}

/** A loopback server for Anthropic's Messages API, with and without streaming, and `count_tokens`. A script answers. */
export async function anthropicServer(
  t: TestContext,
  script: (call: number, request: MessagesRequest) => AnthropicReply,
): Promise<AnthropicServer> {
  const received: Received[] = [];
  const requests: MessagesRequest[] = [];
  const strays: string[] = [];
  let abandoned = 0;
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const body: unknown = await bodyOf(request);
    if (request.method === 'POST' && pathname === '/v1/messages/count_tokens') {
      sendJson(response, 200, { input_tokens: JSON.stringify(CountRequest.parse(body)).length });
      return;
    }
    if (request.method !== 'POST' || pathname !== '/v1/messages') {
      strays.push(`${request.method} ${pathname}`);
      sendJson(response, 404, errorBody('not_found_error', 'there is nothing here'));
      return;
    }
    const asked = MessagesRequest.parse(body);
    requests.push(asked);
    received.push({ path: request.url ?? '', headers: request.headers, body: asked });
    response.on('close', () => {
      if (!response.writableFinished) abandoned += 1;
    });
    const turn = requests.length;
    const reply = script(turn, asked);
    if ('status' in reply) {
      const { status, type, message, headers } = reply;
      sendJson(response, status, errorBody(type, message), headers);
      return;
    }
    const answer: Answer = { usage: plausible(asked), ...reply, turn, model: asked.model };
    if (asked.stream) stream(response, answer);
    else if (!reply.hang) sendJson(response, 200, messageOf(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    received,
    strays,
    abandoned: () => abandoned,
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body === '' ? undefined : JSON.parse(body);
}

const errorBody = (type: string, message: string) => ({ type: 'error', error: { type, message } });

function sendJson(response: ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const CHARS_PER_TOKEN = 4;
const OUTPUT_TOKENS = 20;

/** The usage when the script gives none. */
const plausible = (asked: MessagesRequest): AnthropicUsage => ({
  input_tokens: Math.ceil(JSON.stringify(asked).length / CHARS_PER_TOKEN),
  output_tokens: OUTPUT_TOKENS,
});

type Answer = AnthropicAnswer & {
  readonly usage: AnthropicUsage;
  readonly turn: number;
  readonly model: string;
};

function frameOf({ usage, turn, model }: Answer) {
  const { output_tokens: _later, ...input } = {
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    ...usage,
  };
  const role = { type: 'message', role: 'assistant', model, stop_sequence: null };
  return {
    id: `msg_${turn}`,
    ...role,
    content: [],
    stop_reason: null,
    usage: { ...input, output_tokens: 1 },
  };
}

const stopOf = ({ stop, calls = [] }: AnthropicAnswer): string =>
  stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn');

/** The blocks of an answer, each with its stream deltas. */
function blocksOf({ thinking, text, calls = [], turn }: Answer) {
  const thought = thinking === undefined ? [] : [thoughtOf(thinking)];
  const words = text === undefined ? [] : [wordsOf(text)];
  return [
    ...thought,
    ...words,
    ...calls.map(([name, input], at) => callOf(`toolu_${turn}_${at}`, name, input)),
  ];
}

const thoughtOf = (thinking: string) => ({
  start: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    ...pieces(thinking).map((part) => ({ type: 'thinking_delta', thinking: part })),
    { type: 'signature_delta', signature: 'c2ln' },
  ],
  whole: { type: 'thinking', thinking, signature: 'c2ln' },
});

const wordsOf = (text: string) => ({
  start: { type: 'text', text: '' },
  deltas: pieces(text).map((part) => ({ type: 'text_delta', text: part })),
  whole: { type: 'text', text },
});

const callOf = (id: string, name: string, input: object) => ({
  start: { type: 'tool_use', id, name, input: {} },
  deltas: ['', ...pieces(JSON.stringify(input))].map((part) => ({
    type: 'input_json_delta',
    partial_json: part,
  })),
  whole: { type: 'tool_use', id, name, input },
});

const pieces = (text: string): string[] => text.match(/[\s\S]{1,12}/g) ?? [];

function messageOf(reply: Answer) {
  const frame = frameOf(reply);
  const content = blocksOf(reply).map(({ whole }) => whole);
  const usage = { ...frame.usage, output_tokens: reply.usage.output_tokens };
  return { ...frame, content, stop_reason: stopOf(reply), usage };
}

function stream(response: ServerResponse, reply: Answer): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'request-id': `req_${reply.turn}`,
  });
  const send = (type: string, data: object): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  };
  send('message_start', { message: frameOf(reply) });
  send('ping', {});
  const blocks = blocksOf(reply);
  for (const [index, { start, deltas }] of blocks.entries()) {
    send('content_block_start', { index, content_block: start });
    for (const delta of deltas) send('content_block_delta', { index, delta });
    if (reply.hang && index === blocks.length - 1) return;
    send('content_block_stop', { index });
  }
  if (reply.hang) return;
  if (reply.breaksWith !== undefined) {
    send('error', { error: { type: reply.breaksWith, message: 'it broke off' } });
    response.end();
    return;
  }
  const usage = { output_tokens: reply.usage.output_tokens };
  send('message_delta', { delta: { stop_reason: stopOf(reply), stop_sequence: null }, usage });
  send('message_stop', {});
  response.end();
}

/** The system prompt, and the text blocks of the user messages. */
export function textsOf({ system, messages }: MessagesRequest): { system: string; user: string[] } {
  const user = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content));
  return { system: textOf(system ?? ''), user: user.filter((text) => text !== '') };
}

export function textOf(content: string | readonly AnthropicBlock[]): string {
  if (typeof content === 'string') return content;
  return content.map((block) => (typeof block.text === 'string' ? block.text : '')).join('\n');
}

/** The tool results in a request, in order. */
export function resultsOf({ messages }: MessagesRequest): { isError: boolean; text: string }[] {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return blocks
    .filter(({ type }) => type === 'tool_result')
    .map(({ is_error: isError, content }) => ({ isError: isError === true, text: resultText(content) }));
}

function resultText(content: unknown): string {
  const parsed = Content.safeParse(content);
  return parsed.success ? textOf(parsed.data) : '';
}
