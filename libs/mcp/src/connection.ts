import { type Clock, isJsonObject, type JsonObject, type Log } from '@hermes-fleet/protocol';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ListToolsResultSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { ServerFailure } from './failure.ts';
import type { StdioTransport } from './stdio-transport.ts';

export interface McpTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  /** Whether the server says of it that it changes nothing. */
  readonly readOnly: boolean;
}

/** One session with one server. Every request ends with its signal, rejecting with the signal's reason. */
export interface Connection {
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Resolves with why it ended, once it has, whoever ended it. */
  readonly closed: Promise<ServerFailure>;
  ping(signal: AbortSignal): Promise<void>;
  listTools(signal: AbortSignal): Promise<McpTool[]>;
  callTool(
    name: string,
    args: JsonObject,
    o: { readonly signal: AbortSignal; readonly meta: JsonObject | undefined },
  ): Promise<CallToolResult>;
  /** Stops using it; resolves when its process is gone, or its HTTP session ended or not answered for. */
  close(): Promise<void>;
}

export type ServerTransport =
  | { readonly kind: 'stdio'; readonly transport: StdioTransport }
  | { readonly kind: 'http'; readonly transport: StreamableHTTPClientTransport };

/** The SDK's own timer never fires first: deadlines are ours, by the signal. */
const NO_TIMEOUT = 2 ** 31 - 1;
const MAX_TOOLS = 1_000;
/** Of all their names, descriptions and schemas. */
const MAX_TOOLS_CHARS = 10_000_000;
const SESSION_END_MS = 300;

/** Connects and initialises a session. When it fails, or `signal` aborts, nothing is left open. */
export async function openConnection(o: {
  readonly server: ServerTransport;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onToolsChanged: () => void;
}): Promise<Connection> {
  const { server, clock, log, signal } = o;
  const { transport } = server;
  const client = new Client({ name: 'hermes-fleet', version: '0.1.0' });
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<ServerFailure>();
  const failure = (): ServerFailure | undefined =>
    server.kind === 'stdio' ? server.transport.failure : undefined;

  client.onerror = (error) => log.debug({ err: error }, 'MCP client reports');
  client.onclose = () => resolveClosed(failure() ?? new ServerFailure('connection closed'));
  client.setNotificationHandler(ToolListChangedNotificationSchema, o.onToolsChanged);

  /** What a request failed of: the deadline before the process, the process before the SDK's word for it. */
  function reasonOf(error: unknown, of: AbortSignal): unknown {
    if (of.aborted) return of.reason;
    return failure() ?? error;
  }

  async function request<T>(of: AbortSignal, run: (options: RequestOptions) => Promise<T>): Promise<T> {
    of.throwIfAborted();
    try {
      return await run({ signal: of, timeout: NO_TIMEOUT });
    } catch (error) {
      throw reasonOf(error, of);
    }
  }

  async function endSession(): Promise<void> {
    if (server.kind === 'stdio') return;
    const impatience = Promise.withResolvers<void>();
    using _timer = clock.timer(impatience.resolve, SESSION_END_MS);
    const ended = server.transport.terminateSession().catch((error) => {
      log.debug({ err: error }, 'MCP session was not ended by its server');
    });
    await Promise.race([ended, impatience.promise]);
  }

  async function close(): Promise<void> {
    await endSession();
    await transport.close();
  }

  const abandon = (): void => void transport.close();
  signal.addEventListener('abort', abandon, { once: true });
  try {
    await request(signal, (options) => client.connect(transport, options));
    signal.throwIfAborted();
  } catch (error) {
    void transport.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', abandon);
  }

  return {
    openedAt: clock.now(),
    closed,
    ping: (of) => request(of, async (options) => void (await client.ping(options))),
    listTools: (of) => request(of, (options) => listAll(client, options)),
    callTool: (name, args, { signal: of, meta }) =>
      request(of, (options) =>
        client.request(
          { method: 'tools/call', params: { name, arguments: args, ...(meta && { _meta: meta }) } },
          CallToolResultSchema,
          options,
        ),
      ),
    close,
  };
}

interface RequestOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

async function listAll(client: Client, options: RequestOptions): Promise<McpTool[]> {
  if (!client.getServerCapabilities()?.tools) return [];
  const tools: McpTool[] = [];
  let chars = 0;
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, options);
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

/** About as long as it is in JSON, however deep it is nested. */
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
