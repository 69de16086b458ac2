import { addAbortListener } from 'node:events';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { type Clock, isWithin, type Log } from '@hermes-fleet/protocol/ports';
import {
  type CallToolResult,
  Client,
  type RequestOptions,
  type StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import manifest from '../package.json' with { type: 'json' };
import { ServerFailure } from './failure.ts';
import type { StdioTransport } from './stdio-transport.ts';

export interface McpTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  /** True when the server declares the tool read-only. */
  readonly readOnly: boolean;
}

export type Connection = Awaited<ReturnType<typeof openConnection>>;

export type ServerTransport =
  | { readonly kind: 'stdio'; readonly transport: StdioTransport }
  | { readonly kind: 'http'; readonly transport: StreamableHTTPClientTransport };

/** Disables the SDK's own timer: the signal sets the deadline. */
const NO_TIMEOUT = 2 ** 31 - 1;
const MAX_TOOLS = 1_000;
/** The limit for all names, descriptions and schemas together. */
const MAX_TOOLS_CHARS = 10_000_000;
const SESSION_END_MS = 300;

/**
 * Connects and initializes a session, in a revision of 2025 of the protocol, which servers of every generation speak. Closes
 * everything when that fails or `signal` aborts. Every request rejects with the reason of its signal.
 */
export async function openConnection(options: {
  readonly server: ServerTransport;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onToolsChanged: () => void;
}) {
  const { server, clock, log, signal } = options;
  const { transport } = server;
  const client = new Client({ name: 'hermes-fleet', version: manifest.version });
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<ServerFailure>();
  const failure = (): ServerFailure | undefined =>
    server.kind === 'stdio' ? server.transport.failure : undefined;

  client.onerror = (error) => log.debug({ err: error }, 'MCP client reports');
  client.onclose = () => resolveClosed(failure() ?? new ServerFailure('connection closed'));
  client.setNotificationHandler('notifications/tools/list_changed', options.onToolsChanged);

  async function request<T>(
    requestSignal: AbortSignal,
    run: (options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    requestSignal.throwIfAborted();
    try {
      return await run({ signal: requestSignal, timeout: NO_TIMEOUT });
    } catch (error) {
      // The deadline takes precedence over a failed process, and that over the SDK's error.
      throw requestSignal.aborted ? requestSignal.reason : (failure() ?? error);
    }
  }

  async function endSession(): Promise<void> {
    if (server.kind === 'stdio') return;
    const ended = server.transport.terminateSession().catch((error) => {
      log.debug({ err: error }, 'MCP session was not ended by its server');
    });
    await isWithin(ended, SESSION_END_MS, clock);
  }

  async function close(): Promise<void> {
    await endSession();
    await transport.close();
  }

  try {
    using _abandoned = addAbortListener(signal, () => void transport.close());
    await request(signal, (call) => client.connect(transport, call));
    signal.throwIfAborted();
  } catch (error) {
    void transport.close();
    throw error;
  }

  return {
    /** Milliseconds since the epoch. */
    openedAt: clock.now(),
    /** Resolves with the reason once the session has ended, on either side. */
    closed,
    ping: (limit: AbortSignal) => request(limit, async (call) => void (await client.ping(call))),
    listTools: (limit: AbortSignal) => request(limit, (call) => listAll(client, call)),
    callTool: (
      name: string,
      args: JsonObject,
      { signal: limit, meta }: { readonly signal: AbortSignal; readonly meta: JsonObject | undefined },
    ): Promise<CallToolResult> =>
      request(limit, (call) => {
        const params = { name, arguments: args, ...(meta && { _meta: meta }) };
        return client.request({ method: 'tools/call', params }, call);
      }),
    /** Resolves when the process is gone, or the HTTP session is terminated or the request to do so has timed out. */
    close,
  };
}

async function listAll(client: Client, options: RequestOptions): Promise<McpTool[]> {
  if (!client.getServerCapabilities()?.tools) return [];
  const tools: McpTool[] = [];
  let chars = 0;
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, options);
    for (const { name, description, inputSchema, annotations } of page.tools) {
      if (!isJsonObject(inputSchema)) continue;
      const readOnly = annotations?.readOnlyHint === true;
      chars += charsIn([name, description, inputSchema]);
      if (chars > MAX_TOOLS_CHARS) throw new ServerFailure('lists more than 10 MB of tools');
      tools.push({ name, ...(description === undefined ? {} : { description }), inputSchema, readOnly });
    }
    if (page.tools.length === 0) break;
    cursor = page.nextCursor;
  } while (cursor !== undefined && tools.length < MAX_TOOLS);
  return tools.slice(0, MAX_TOOLS);
}

/** The approximate length as JSON, computed without recursion. */
function charsIn(value: unknown): number {
  let chars = 0;
  const rest = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    chars += typeof next === 'string' ? next.length + 2 : 4;
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      chars += key.length;
      rest.push(inner ?? null);
    }
  }
  return chars;
}
