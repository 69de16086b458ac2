import type { Readable, Writable } from 'node:stream';
import { type Clock, FleetError } from '@hermes-fleet/protocol';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** How long answers are awaited after the end of the input. Clients kill a server that takes long to end. */
const ANSWERS_MS = 5_000;

export interface ForwardStdioOptions {
  /** The MCP server, with its path. */
  readonly url: string;
  readonly token: string;
  readonly input: Readable;
  readonly output: Writable;
  readonly clock: Clock;
  /** Told about a message that could not be delivered, and about what has no answer at the end. */
  readonly onError: (message: string) => void;
}

/**
 * Serves MCP over stdio by forwarding every message to a server over Streamable HTTP, and its answers back. A request
 * that cannot be delivered is answered with an error. When the input has ended, requests that are open get their answers
 * for `ANSWERS_MS` more; the calls of others are left, not canceled. Resolves then: false if anything stayed open.
 */
export async function forwardStdio(options: ForwardStdioOptions): Promise<boolean> {
  const { url, token, input, output, clock, onError } = options;
  // Services, which do not forward, do not load the SDK's client.
  const { StreamableHTTPClientTransport } = await import(
    '@modelcontextprotocol/sdk/client/streamableHttp.js'
  );
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const stdio = new StdioServerTransport(input, output);
  const http = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  /** The ids of requests without an answer, and other messages that are not delivered yet. */
  const open = new Set<unknown>();
  const ended = Promise.withResolvers<void>();
  const idle = Promise.withResolvers<void>();
  let hasEnded = false;
  const onEnd = (): void => {
    hasEnded = true;
    ended.resolve();
  };
  input.once('end', onEnd);
  input.once('close', onEnd);
  const close = (key: unknown): void => {
    open.delete(key);
    if (hasEnded && open.size === 0) idle.resolve();
  };
  const answer = async (message: JSONRPCMessage): Promise<void> => {
    try {
      await stdio.send(message);
    } catch (thrown) {
      onError(String(thrown));
    }
    if (!('method' in message) && 'id' in message) close(message.id);
  };
  http.onmessage = (message) => {
    const version = 'result' in message ? message.result.protocolVersion : undefined;
    if (typeof version === 'string') http.setProtocolVersion(version);
    void answer(message);
  };
  http.onerror = (error) => onError(error.message);
  stdio.onerror = (error) => onError(error.message);
  stdio.onmessage = async (message) => {
    const isRequest = 'method' in message && 'id' in message;
    open.add(isRequest ? message.id : message);
    try {
      await http.send(message);
    } catch (thrown) {
      const error = asFleetError(thrown, url);
      if (isRequest && open.has(message.id))
        void answer({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: error.jsonrpcCode, message: error.message, data: { reason: error.code } },
        });
    }
    if (!isRequest) close(message);
    // A canceled request need not be answered.
    if ('method' in message && message.method === 'notifications/cancelled') close(message.params?.requestId);
  };
  await http.start();
  await stdio.start();
  await ended.promise;
  if (open.size > 0) {
    const waited = new AbortController();
    await Promise.race([idle.promise, clock.sleep(ANSWERS_MS, waited.signal)]);
    waited.abort();
  }
  const left = open.size;
  // An open request is left: it neither gets an answer nor is an error any more.
  open.clear();
  http.onerror = () => undefined;
  await http.close();
  await stdio.close();
  if (left > 0)
    onError(`no answer within ${ANSWERS_MS / 1000} s of the end of the input (open: ${left}); tasks go on`);
  return left === 0;
}

/** The reply of the server, where there is one; else that it was not reached. */
function asFleetError(thrown: unknown, url: string): FleetError {
  const status = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  const options = { cause: thrown };
  if (status === 401)
    return new FleetError('UNAUTHENTICATED', `${url} does not accept the token; check whose it is`, options);
  if (typeof status === 'number' && status > 0)
    return new FleetError('PEER_REFUSED', `${url} answered HTTP ${status}: ${String(thrown)}`, options);
  return new FleetError(
    'PEER_UNREACHABLE',
    `${url} does not answer; start the fleet, and try again`,
    options,
  );
}
