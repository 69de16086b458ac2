import { type Clock, FleetError, type JsonObject, type Log } from '@hermes-fleet/protocol';
import type { McpServerConfig } from './config.ts';
import type { McpTool } from './connection.ts';
import { type Health, type McpToolResult, MonitoredServer } from './monitored-server.ts';

export interface McpPoolOptions {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Wraps a server's command in a sandbox. */
  readonly launch?: (command: string, args: string[]) => { command: string; args: string[] };
  /** Called after each `connect`, `ping`, `tools/list` and `tools/call`; outcome is ok, timeout or error. */
  readonly onOperation?: (server: string, method: string, outcome: string, seconds: number) => void;
  /** The source of PATH, HOME and LANG for stdio servers; no other variable is passed on. Default process.env. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** In [0, 1), for jitter. */
  readonly random?: () => number;
}

export interface McpPool {
  names(): string[];
  /** The latest measurement of each server; `checkedAt` is 0 before the first. */
  health(): Record<string, Health>;
  /**
   * Pings the server unless its last measurement is younger than `maxAgeMs`, and connects first if necessary. Concurrent
   * probes share one ping. Resolves within `timeoutMs`, with state `timeout` when that expires. Throws NOT_FOUND for an
   * unknown name.
   */
  probe(name: string, options: { readonly maxAgeMs: number; readonly timeoutMs: number }): Promise<Health>;
  /** Calls the listener when the state of a server changes. */
  onChange(listener: () => void): Disposable;
  /** Cached per session. Throws NOT_FOUND, or PEER_UNREACHABLE when the server is not available. */
  listTools(name: string): Promise<McpTool[]>;
  /**
   * Calls a tool, bounded in time and output (64 kB). A failure of the server or the tool is a result with `isError`;
   * rejects with the signal's reason, or NOT_FOUND for an unknown name. `meta` is sent as the call's `_meta`.
   */
  callTool(
    name: string,
    tool: string,
    args: JsonObject,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly meta?: JsonObject },
  ): Promise<McpToolResult>;
  /** The running processes of stdio servers (the leader of each group). */
  pids(): number[];
  /** Ends all sessions and kills the process group of every stdio server, within one second. */
  close(): Promise<void>;
}

const RECHECK_MS = 15_000;
const CLOSE_MS = 1_000;

/**
 * Clients of the configured MCP servers (docs/agent.md#mcp-servers): one session per server serves both its tools and its
 * health checks. Returns at once and connects in the background; every server is measured every 15 s.
 */
export function createMcpPool(options: McpPoolOptions): McpPool {
  const { clock, log } = options;
  const listeners = new Set<() => void>();
  /** Isolates listeners: their errors must not look like a server's. */
  const notify = (listener: () => void): void => {
    try {
      listener();
    } catch (error) {
      log.error({ err: error }, 'a listener of the MCP pool failed');
    }
  };
  const servers = new Map(
    Object.entries(options.servers).map(([name, config]) => [
      name,
      new MonitoredServer({
        name,
        config,
        clock,
        log,
        random: options.random ?? Math.random,
        environment: options.environment ?? process.env,
        launch: options.launch ?? ((command, args) => ({ command, args })),
        onOperation: (method, outcome, seconds) =>
          notify(() => options.onOperation?.(name, method, outcome, seconds)),
        onChange: () => {
          for (const listener of listeners) notify(listener);
        },
      }),
    ]),
  );
  let timer: Disposable | undefined;
  const check = (): void => {
    for (const server of servers.values()) server.check();
    timer = clock.timer(check, RECHECK_MS);
  };
  check();

  function find(name: string): MonitoredServer {
    const server = servers.get(name);
    if (server) return server;
    throw new FleetError(
      'NOT_FOUND',
      `no MCP server "${name}" is configured; configured: ${[...servers.keys()].join(', ') || 'none'}`,
    );
  }

  async function close(): Promise<void> {
    timer?.[Symbol.dispose]();
    listeners.clear();
    const closed = Promise.all([...servers.values()].map((server) => server.close()));
    const { promise: timeout, resolve } = Promise.withResolvers<'late'>();
    using _limit = clock.timer(() => resolve('late'), CLOSE_MS);
    if ((await Promise.race([closed, timeout])) !== 'late') return;
    log.warn({ pids: pids() }, 'MCP servers did not end in time');
  }

  const pids = (): number[] => [...servers.values()].flatMap((server) => server.pids());

  return {
    names: () => [...servers.keys()],
    health: () => Object.fromEntries([...servers].map(([name, server]) => [name, server.health])),
    probe: async (name, limits) => find(name).probe(limits),
    onChange: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    listTools: async (name) => find(name).listTools(),
    callTool: async (name, tool, args, limits) => find(name).callTool(tool, args, limits),
    pids,
    close,
  };
}
