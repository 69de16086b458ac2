import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import { type Clock, type Log, raceSignal } from '@hermes-fleet/protocol/ports';
import type { McpServerConfig } from './config.ts';
import { type Connection, openConnection, type ServerTransport } from './connection.ts';
import { deadline } from './deadline.ts';
import { describeFailure, isSessionLost, ServerFailure } from './failure.ts';
import { createHttpTransport } from './http-transport.ts';
import type { ServerPlace, Supervise } from './server-process.ts';
import { lineOf } from './shipped-servers.ts';
import { StdioTransport } from './stdio-transport.ts';

export interface SessionOptions {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly launch: ServerPlace['wrap'];
  readonly supervise: Supervise;
  /** Called after each connection attempt; outcome is ok, timeout or error. */
  readonly onConnect: (outcome: string, seconds: number, failure?: unknown) => void;
  /** Called when the session ends unexpectedly. */
  readonly onLost: (failure: ServerFailure) => void;
  /** Called when the backoff delay is over. */
  readonly onRetry: () => void;
  /** Called when the server's tool list may have changed: it says so, or the session has ended. */
  readonly onToolsChanged: (why: 'told' | 'ended') => void;
}

const RETRY = { firstMs: 500, longestMs: 30_000 };
const CONNECT_MS = 10_000;
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 10_000;

/** Holds at most one connection to a server, opens it on demand, and reopens it with jittered backoff when it ends. */
export class Session {
  readonly #options: SessionOptions;
  readonly #processes = new Set<StdioTransport>();
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #opening: { readonly server: ServerTransport; readonly result: Promise<Connection> } | undefined;
  #retry: Disposable | undefined;
  #failures = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Aborts on close(). */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** True while a retry is scheduled. */
  get isWaiting(): boolean {
    return this.#retry !== undefined;
  }

  /** The failure of a server that is still being connected to: more specific than a timeout. */
  get openingFailure(): ServerFailure | undefined {
    return failureOf(this.#opening?.server);
  }

  /** Runs work on the connection, and again on a new one when the server has lost the session; rejects with the signal. */
  async use<T>(signal: AbortSignal, run: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await raceSignal(this.#connect(), signal);
    try {
      return await run(connection);
    } catch (error) {
      if (!isSessionLost(error)) throw error;
      this.#forget(connection);
      return await run(await raceSignal(this.#connect(), signal));
    }
  }

  /** Closes the connection and schedules the next attempt. */
  replace(): void {
    if (!this.#connection) return;
    this.#forget(this.#connection);
    this.#retryLater();
  }

  /** The pids of this server's process group leaders. */
  pids(): number[] {
    return [...this.#processes].flatMap(({ pid }) => pid ?? []);
  }

  /** Resolves when no process of this server is left. */
  async close(): Promise<void> {
    this.#closing.abort(new ServerFailure('the gateway is shutting down'));
    this.#retry?.[Symbol.dispose]();
    await Promise.all([
      this.#connection?.close(),
      this.#opening?.result.catch(() => undefined),
      ...[...this.#processes].map((process) => process.close()),
    ]);
  }

  #connect(): Promise<Connection> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason);
    if (this.#options.config.disabled)
      return Promise.reject(new ServerFailure('disabled in the configuration'));
    if (this.#connection) return Promise.resolve(this.#connection);
    if (!this.#opening) {
      this.#retry?.[Symbol.dispose]();
      this.#retry = undefined;
      const server = this.#transport();
      this.#opening = { server, result: this.#open(server) };
    }
    return this.#opening.result;
  }

  async #open(server: ServerTransport): Promise<Connection> {
    const { clock, log, onConnect, onToolsChanged } = this.#options;
    const startedAt = clock.now();
    const seconds = (): number => (clock.now() - startedAt) / 1000;
    using limit = deadline(clock, CONNECT_MS, this.#closing.signal);
    try {
      const connection = await openConnection({
        server,
        clock,
        log,
        signal: limit.signal,
        onToolsChanged: () => onToolsChanged('told'),
      });
      this.#connection = connection;
      onConnect('ok', seconds());
      void connection.closed.then((failure) => this.#onClosed(connection, failure));
      return connection;
    } catch (error) {
      const failure = failureOf(server) ?? error;
      if (!this.#closing.signal.aborted) {
        this.#retryLater();
        onConnect(describeFailure(failure).state, seconds(), failure);
      }
      throw failure;
    } finally {
      this.#opening = undefined;
    }
  }

  #transport(): ServerTransport {
    const { config, clock, log, environment, launch, supervise } = this.#options;
    if ('url' in config) return { kind: 'http', transport: createHttpTransport(config.url, config.headers) };
    const { command, args } = lineOf(config);
    const line = launch(command, args);
    const env = serverEnvironment(environment, config.env);
    const transport = new StdioTransport({ line, supervise, env, cwd: config.cwd, clock, log });
    this.#processes.add(transport);
    void transport.exited.then(() => this.#processes.delete(transport));
    return { kind: 'stdio', transport };
  }

  #onClosed(connection: Connection, failure: ServerFailure): void {
    if (this.#connection !== connection || this.#closing.signal.aborted) return;
    this.#forget(connection);
    this.#retryLater();
    this.#options.onLost(failure);
  }

  #forget(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    if (this.#options.clock.now() - connection.openedAt >= STABLE_MS) this.#failures = 0;
    this.#options.onToolsChanged('ended');
    void connection.close();
  }

  #retryLater(): void {
    if (this.#retry) return;
    this.#failures += 1;
    const wait = backoffMs(this.#failures, { ...RETRY, random: this.#options.random });
    this.#retry = this.#options.clock.timer(() => {
      this.#retry = undefined;
      this.#options.onRetry();
    }, wait);
  }
}

function failureOf(server: ServerTransport | undefined): ServerFailure | undefined {
  return server?.kind === 'stdio' ? server.transport.failure : undefined;
}

/** The error for callers when a server cannot be used. */
export function unavailable(name: string, cause: unknown): FleetError {
  const { detail } = describeFailure(cause);
  return new FleetError('PEER_UNREACHABLE', `MCP server "${name}" is not available (${detail})`, { cause });
}

/** The allow-list of the gateway's environment for MCP servers; all other variables may hold secrets. */
const INHERITED = ['PATH', 'HOME', 'LANG'] as const;

/** The environment of a stdio server: the allow-list and its configured variables. */
function serverEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = own[name];
    if (value !== undefined) environment[name] = value;
  }
  return { ...environment, ...configured };
}
