import assert from 'node:assert/strict';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { type Served, TOKEN } from './serve.ts';

export interface SseMessage {
  readonly id: string | undefined;
  readonly data: JsonObject;
}

export interface OpenStream {
  readonly response: Response;
  /** The next event, or undefined at the end. Comments are counted and skipped. */
  next(): Promise<SseMessage | undefined>;
  rest(): Promise<SseMessage[]>;
  comments(): number;
}

/** Opens a stream with a plain request, which exposes event ids and comments. */
export async function openStream(
  served: Served,
  method: string,
  params: JsonObject,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<OpenStream> {
  const response = await fetch(served.rpcUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${TOKEN}`,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
    signal: signal ?? null,
  });
  assert.equal(response.headers.get('content-type'), 'text/event-stream', `${method} did not stream`);
  let comments = 0;
  const events = (async function* (): AsyncGenerator<SseMessage, undefined> {
    let buffer = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      buffer += decoder.decode(chunk, { stream: true });
      for (let end = buffer.indexOf('\n\n'); end !== -1; end = buffer.indexOf('\n\n')) {
        const block = buffer.slice(0, end);
        buffer = buffer.slice(end + 2);
        if (block.startsWith(':')) comments += 1;
        else yield parseBlock(block);
      }
    }
    return undefined;
  })();
  const next = async (): Promise<SseMessage | undefined> => (await events.next()).value;
  return {
    response,
    next,
    rest: async () => {
      const all: SseMessage[] = [];
      for (let event = await next(); event !== undefined; event = await next()) all.push(event);
      return all;
    },
    comments: () => comments,
  };
}

function parseBlock(block: string): SseMessage {
  const lines = block.split('\n');
  const field = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const data: unknown = JSON.parse(field('data') ?? 'null');
  assert.ok(isJsonObject(data));
  return { id: field('id'), data };
}
