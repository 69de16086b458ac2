import type { JsonObject, Log, McpHealth } from '@hermes-fleet/protocol';
import type { Connection, McpTool } from './connection.ts';
import { boundText, contentText } from './content.ts';
import { deadline, raceSignal, TimeoutError } from './deadline.ts';
import { describeFailure, isAnswer, oneLine } from './failure.ts';
import { Session, type SessionOptions, unavailable } from './session.ts';

/** The result of a health check. `checkedAt` is in ms since the epoch, 0 before the first. */
export interface Health {
  readonly state: McpHealth;
  readonly detail: string;
  readonly checkedAt: number;
}

export interface McpToolResult {
  readonly isError: boolean;
  /** At most 64 kB. */
  readonly content: string;
}

type SessionCallbacks = 'onConnect' | 'onLost' | 'onRetry' | 'onToolsChanged';

export interface ServerOptions extends Omit<SessionOptions, SessionCallbacks> {
  readonly onOperation: (method: string, outcome: string, seconds: number) => void;
  /** Called when the health's state has changed. */
  readonly onChange: () => void;
}

/** Exceeds the time limits of a connection attempt and a ping together. */
const MEASURE_MS = 20_000;
const PING_MS = 5_000;
const LIST_MS = 10_000;
/** A server that misses this many pings in a row counts as hung; its connection is replaced when no call is in flight. */
const MAX_SILENT_PINGS = 3;

/** One configured MCP server: health checks and tool calls over one session (docs/agent.md#mcp-servers). */
export class MonitoredServer {
  readonly #options: ServerOptions;
  readonly #session: Session;
  #health: Health;
  #measurement: Promise<void> | undefined;
  #tools: Promise<McpTool[]> | undefined;
  #silentPings = 0;
  #callsInFlight = 0;

  constructor(options: ServerOptions) {
    this.#options = { ...options, log: namedLog(options.log, options.name) };
    this.#health = options.config.disabled
      ? { state: 'disabled', detail: 'disabled in the configuration', checkedAt: options.clock.now() }
      : { state: 'error', detail: 'not connected yet', checkedAt: 0 };
    this.#session = new Session({
      ...this.#options,
      onConnect: (outcome, seconds) => options.onOperation('connect', outcome, seconds),
      onLost: (failure) => this.#record(describeFailure(failure)),
      onRetry: () => void this.#measure(),
      onToolsChanged: () => {
        this.#tools = undefined;
      },
    });
  }

  get health(): Health {
    return this.#health;
  }

  /** Measures in the background, unless a retry is already scheduled. */
  check(): void {
    if (!this.#session.isWaiting) void this.#measure();
  }

  /** Returns the last measurement if it is younger than `maxAgeMs`, or else a new one, within `timeoutMs`. */
  async probe(options: { readonly maxAgeMs: number; readonly timeoutMs: number }): Promise<Health> {
    const { checkedAt } = this.#health;
    const isFresh = checkedAt !== 0 && this.#options.clock.now() - checkedAt < options.maxAgeMs;
    if (isFresh || this.#isUnusable()) return this.#health;
    using limit = deadline(this.#options.clock, options.timeoutMs, this.#session.signal);
    try {
      await raceSignal(this.#measure(), limit.signal);
    } catch (error) {
      if (!this.#isUnusable()) this.#record(describeFailure(this.#session.openingFailure ?? error));
    }
    return this.#health;
  }

  /** The server's tools, cached until the server reports a change or the connection ends. */
  async listTools(): Promise<McpTool[]> {
    this.#tools ??= this.#listTools();
    const listing = this.#tools;
    try {
      return await listing;
    } catch (error) {
      if (this.#tools === listing) this.#tools = undefined;
      throw unavailable(this.#options.name, error);
    }
  }

  /** Calls a tool. Failures are results that a model can act on; only the signal rejects, with its reason. */
  async callTool(
    tool: string,
    args: JsonObject,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly meta?: JsonObject },
  ): Promise<McpToolResult> {
    options.signal.throwIfAborted();
    using limit = deadline(this.#options.clock, options.timeoutMs, options.signal);
    this.#callsInFlight += 1;
    try {
      const result = await this.#use('tools/call', limit.signal, (connection) =>
        connection.callTool(tool, args, { signal: limit.signal, meta: options.meta }),
      );
      return { isError: result.isError ?? false, content: contentText(result) };
    } catch (error) {
      options.signal.throwIfAborted();
      return { isError: true, content: boundText(this.#callFailure(tool, error)) };
    } finally {
      this.#callsInFlight -= 1;
    }
  }

  pids(): number[] {
    return this.#session.pids();
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  #isUnusable(): boolean {
    return this.#options.config.disabled === true || this.#session.signal.aborted;
  }

  #callFailure(tool: string, error: unknown): string {
    const prefix = `tool "${tool}" of MCP server "${this.#options.name}"`;
    // The model may see the server's own message; health details, which callers see, must not contain it.
    if (isAnswer(error)) return `${prefix}: answered with error ${oneLine(error.message)}`;
    if (error instanceof TimeoutError) return `${prefix}: ${error.message}`;
    return unavailable(this.#options.name, error).message;
  }

  /** Never rejects. Concurrent calls share one measurement. */
  #measure(): Promise<void> {
    this.#measurement ??= this.#takeMeasurement().finally(() => {
      this.#measurement = undefined;
    });
    return this.#measurement;
  }

  async #takeMeasurement(): Promise<void> {
    if (this.#isUnusable()) return;
    const startedAt = this.#options.clock.now();
    try {
      using limit = deadline(this.#options.clock, MEASURE_MS, this.#session.signal);
      await this.#use('ping', limit.signal, async (connection) => {
        using ping = deadline(this.#options.clock, PING_MS, limit.signal);
        this.#silentPings += 1;
        await connection.ping(ping.signal);
        this.#silentPings = 0;
      });
      this.#record({ state: 'ok', detail: `answered in ${this.#options.clock.now() - startedAt} ms` });
    } catch (error) {
      if (this.#session.signal.aborted) return;
      this.#record(describeFailure(error));
      if (this.#mustReplace(error)) this.#session.replace();
    }
  }

  /** True when the connection must be replaced. A server that answers with an error works and is kept. */
  #mustReplace(error: unknown): boolean {
    if (!(error instanceof TimeoutError)) return !isAnswer(error);
    if (this.#silentPings < MAX_SILENT_PINGS || this.#callsInFlight > 0) return false;
    this.#silentPings = 0;
    this.#options.log.warn(
      { pings: MAX_SILENT_PINGS },
      'MCP server no longer answers; replacing its connection',
    );
    return true;
  }

  #use<T>(method: string, signal: AbortSignal, run: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#session.use(signal, async (connection) => {
      const startedAt = this.#options.clock.now();
      let outcome = 'ok';
      try {
        return await run(connection);
      } catch (error) {
        outcome = describeFailure(error).state;
        throw error;
      } finally {
        this.#options.onOperation(method, outcome, (this.#options.clock.now() - startedAt) / 1000);
      }
    });
  }

  async #listTools(): Promise<McpTool[]> {
    using limit = deadline(this.#options.clock, LIST_MS, this.#session.signal);
    return await this.#use('tools/list', limit.signal, (c) => c.listTools(limit.signal));
  }

  #record(found: Pick<Health, 'state' | 'detail'>): void {
    const before = this.#health;
    const { state, detail } = found;
    this.#health = { state, detail, checkedAt: this.#options.clock.now() };
    if (before.state === state && before.checkedAt !== 0) return;
    if (state === 'ok') this.#options.log.info({ detail }, 'MCP server is healthy');
    else this.#options.log.warn({ state, detail }, 'MCP server is not healthy');
    if (before.state !== state) this.#options.onChange();
  }
}

/** Adds the server's name to every log line. */
function namedLog(log: Log, server: string): Log {
  return {
    debug: (fields, message) => log.debug({ server, ...fields }, message),
    info: (fields, message) => log.info({ server, ...fields }, message),
    warn: (fields, message) => log.warn({ server, ...fields }, message),
    error: (fields, message) => log.error({ server, ...fields }, message),
  };
}
