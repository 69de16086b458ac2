import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

/** The answer to a call: a JSON-RPC result, or undefined after writing the response itself. */
export type OddReply = (
  call: { readonly method: string; readonly params: JsonObject },
  request: IncomingMessage,
  response: ServerResponse,
) => JsonObject | undefined;

export interface OddAgent {
  readonly base: string;
  readonly port: number;
  readonly calls: { readonly method: string; readonly params: JsonObject }[];
  /** The `Authorization` header of each request, including requests for the card. */
  readonly tokens: (string | undefined)[];
}

/** A misbehaving agent on loopback, for answers that no correct agent gives. */
export async function oddAgent(
  t: TestContext,
  o: { readonly card?: (base: string) => JsonObject | string; readonly reply?: OddReply },
): Promise<OddAgent> {
  const calls: OddAgent['calls'] = [];
  const tokens: OddAgent['tokens'] = [];
  let base = '';
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => request.socket.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    tokens.push(request.headers.authorization);
    if (request.method === 'GET') {
      if (request.url !== '/.well-known/agent-card.json') {
        response.writeHead(404).end();
        return;
      }
      const card = o.card?.(base) ?? cardAt(`${base}/rpc`);
      response.end(typeof card === 'string' ? card : JSON.stringify(card));
      return;
    }
    const { method, params } = JSON.parse(text);
    const call = { method: String(method), params: isJsonObject(params) ? params : {} };
    calls.push(call);
    const result = o.reply?.(call, request, response);
    if (result === undefined) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the agent does not listen');
  base = `http://127.0.0.1:${address.port}`;
  return { base, port: address.port, calls, tokens };
}

/** An agent card of A2A 1.0 with this JSON-RPC URL. */
export function cardAt(url: string, more: JsonObject = {}): JsonObject {
  return {
    name: 'Odd',
    description: 'An odd agent.',
    version: '1',
    capabilities: { streaming: true },
    skills: [],
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    ...more,
  };
}

/** A task in the wire form of A2A 1.0. */
export function taskOf(state: string, more: JsonObject = {}): JsonObject {
  return { id: 'r-1', contextId: 'c-1', status: { state: `TASK_STATE_${state}` }, ...more };
}
