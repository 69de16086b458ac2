import type { Readable, Writable } from 'node:stream';
import { FleetError } from '@hermes-fleet/protocol';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

export interface ForwardStdioOptions {
  /** The MCP server, with its path. */
  readonly url: string;
  readonly token: string;
  readonly input: Readable;
  readonly output: Writable;
  /** Told about a message that could not be delivered. */
  readonly onError: (message: string) => void;
}

/**
 * Serves MCP over stdio by forwarding every message to a server over Streamable HTTP, and its answers back. A request
 * that cannot be delivered is answered with an error. Resolves when the input has ended: calls that are open then are
 * left, not canceled.
 */
export async function forwardStdio(options: ForwardStdioOptions): Promise<void> {
  const { url, token, input, output, onError } = options;
  const stdio = new StdioServerTransport(input, output);
  const http = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  const ended = new Promise<void>((resolve) => {
    input.once('end', resolve);
    input.once('close', resolve);
  });
  const answer = (message: JSONRPCMessage): void => {
    stdio.send(message).catch((error: Error) => onError(error.message));
  };
  http.onmessage = (message) => {
    const version = 'result' in message ? message.result.protocolVersion : undefined;
    if (typeof version === 'string') http.setProtocolVersion(version);
    answer(message);
  };
  http.onerror = (error) => onError(error.message);
  stdio.onerror = (error) => onError(error.message);
  stdio.onmessage = async (message) => {
    try {
      await http.send(message);
    } catch (thrown) {
      const error = asFleetError(thrown, url);
      if ('method' in message && 'id' in message)
        answer({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: error.jsonrpcCode, message: error.message, data: { reason: error.code } },
        });
    }
  };
  await http.start();
  await stdio.start();
  await ended;
  await http.close();
  await stdio.close();
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
