import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { type Clock, isWithin, type Log } from '@hermes-fleet/protocol/ports';
import type { CallOptions, McpToolResult } from './call-tool.ts';
import { isTaskServer, type McpServerConfig, rootedAt } from './config.ts';
import type { McpTool } from './connection.ts';
import { type Health, MonitoredServer } from './monitored-server.ts';
import { type ServerPlace, type Supervise, superviseGroup } from './server-process.ts';
import { type TaskPlace, TaskServers } from './task-servers.ts';

export interface McpPoolOptions {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Confines a server of scope `profile`. */
  readonly launch?: ServerPlace['wrap'];
  /** For each server of scope `task`, an empty directory for the instance that measures its health. */
  readonly probePlaces?: Readonly<Record<string, ServerPlace>>;
  /** The most instances of servers of scope `task` at a time, besides those that measure. Default 8. */
  readonly maxTaskServers?: number;
  /** Time after its last call at which an instance of scope `task` ends. Default 5 minutes. */
  readonly taskServerIdleMs?: number;
  /** Finds all processes of a stdio server. Default: its process group. */
  readonly supervise?: Supervise;
  /** Called after each `connect`, `ping`, `tools/list` and `tools/call`; outcome is ok, timeout or error. */
  readonly onOperation?: (server: string, method: string, outcome: string, seconds: number) => void;
  /** The source of PATH, HOME and LANG for stdio servers; no other variable is passed on. Default process.env. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** In [0, 1), for jitter. */
  readonly random?: () => number;
}

export type McpPool = ReturnType<typeof createMcpPool>;

const RECHECK_MS = 15_000;
const CLOSE_MS = 1_000;
const MAX_TASK_SERVERS = 8;
const IDLE_MS = 300_000;

/**
 * Clients of the configured MCP servers (docs/agent.md#mcp-servers): one session per server lists its tools and measures
 * its health, and takes its calls if all tasks share the server. Returns at once and connects in the background; every
 * server is measured every 15 s. Throws INTERNAL for a server of scope `task` without a place in `probePlaces`.
 */
export function createMcpPool(options: McpPoolOptions) {
  const { clock, log } = options;
  const listeners = { state: new Set<() => void>(), tools: new Set<() => void>() };
  const listening =
    (all: Set<() => void>) =>
    (listener: () => void): Disposable => {
      all.add(listener);
      return { [Symbol.dispose]: () => void all.delete(listener) };
    };
  /** Isolates listeners: their errors must not look like a server's. */
  const notify = (listener: () => void): void => {
    try {
      listener();
    } catch (error) {
      log.error({ err: error }, 'a listener of the MCP pool failed');
    }
  };
  const common = {
    clock,
    log,
    random: options.random ?? Math.random,
    environment: options.environment ?? process.env,
    supervise: options.supervise ?? superviseGroup,
  };
  const taskServers = new TaskServers({
    ...common,
    maxInstances: options.maxTaskServers ?? MAX_TASK_SERVERS,
    idleMs: options.taskServerIdleMs ?? IDLE_MS,
    onOperation: (...operation) => notify(() => options.onOperation?.(...operation)),
  });
  const servers = new Map(
    Object.entries(options.servers).map(([name, config]) => [
      name,
      new MonitoredServer({
        ...common,
        ...measured(name, config, options),
        onOperation: (method, outcome, seconds) =>
          notify(() => options.onOperation?.(name, method, outcome, seconds)),
        onChange: (what) => {
          for (const listener of listeners[what]) notify(listener);
        },
      }),
    ]),
  );
  let timer: Disposable | undefined;
  const check = (): void => {
    for (const server of servers.values()) server.check();
    taskServers.check();
    timer = clock.timer(check, RECHECK_MS);
  };
  check();

  function serverNamed(name: string): MonitoredServer {
    const server = servers.get(name);
    if (server) return server;
    throw new FleetError(
      'NOT_FOUND',
      `no MCP server "${name}" is configured; configured: ${[...servers.keys()].join(', ') || 'none'}`,
    );
  }

  /** Ends all sessions and kills the process group of every stdio server, within one second. */
  async function close(): Promise<void> {
    timer?.[Symbol.dispose]();
    for (const all of Object.values(listeners)) all.clear();
    const closed = Promise.all([
      taskServers.close(),
      ...[...servers.values()].map((server) => server.close()),
    ]);
    if (!(await isWithin(closed, CLOSE_MS, clock)))
      log.warn({ pids: pids() }, 'MCP servers did not end in time');
  }

  /** The running processes of stdio servers (the leader of each group). */
  const pids = (): number[] => [...servers.values(), taskServers].flatMap((server) => server.pids());

  return {
    names: (): string[] => [...servers.keys()],
    /** The latest measurement of each server; `checkedAt` is 0 before the first. */
    health: (): Record<string, Health> =>
      Object.fromEntries([...servers].map(([name, server]) => [name, server.health])),
    /**
     * Pings the server unless its last measurement is younger than `maxAgeMs`, and connects first if necessary. Concurrent
     * probes share one ping. Resolves within `timeoutMs`, with state `timeout` when that expires. Throws NOT_FOUND for an
     * unknown name.
     */
    probe: async (name: string, limits: Parameters<MonitoredServer['probe']>[0]): Promise<Health> =>
      serverNamed(name).probe(limits),
    /** Calls the listener when the state of a server changes. */
    onChange: listening(listeners.state),
    /** Calls the listener when a server says that its tools have changed. */
    onToolsChanged: listening(listeners.tools),
    /** Cached per session. Throws NOT_FOUND, or PEER_UNREACHABLE when the server is not available. */
    listTools: async (name: string): Promise<McpTool[]> => serverNamed(name).listTools(),
    /**
     * Calls a tool, bounded in time and output (64 kB). A server of scope `task` needs the `place` of the task: the call
     * goes to its context's own instance. A failure of the server or the tool is a result with `isError`; rejects with the
     * signal's reason, or NOT_FOUND for an unknown name. `meta` is sent as the call's `_meta`.
     */
    callTool: async (
      name: string,
      tool: string,
      args: JsonObject,
      { place, ...limits }: CallOptions & { readonly place?: TaskPlace },
    ): Promise<McpToolResult> => {
      const shared = serverNamed(name);
      const config = options.servers[name];
      if (config === undefined || !isTaskServer(config)) return shared.callTool(tool, args, limits);
      if (place === undefined)
        throw new FleetError('INTERNAL', `a call of MCP server "${name}" has no place`);
      return taskServers.callTool({ server: name, config, place }, tool, args, limits);
    },
    /** Ends the instances of a context. Resolves when their processes are gone, after at most 5 s. */
    release: (context: string): Promise<void> => taskServers.release(context),
    pids,
    close,
  };
}

/** The configuration and the confinement of the instance that measures a server. */
function measured(name: string, config: McpServerConfig, options: McpPoolOptions) {
  const launch: ServerPlace['wrap'] = options.launch ?? ((command, args) => ({ command, args }));
  if (!isTaskServer(config)) return { name, config, launch };
  const place = options.probePlaces?.[name];
  if (place === undefined)
    throw new FleetError('INTERNAL', `MCP server "${name}" has no place to be measured in`);
  return { name, config: rootedAt(config, place.dir), launch: place.wrap.bind(place) };
}
