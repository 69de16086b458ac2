import type { JsonObject } from '@hermes-fleet/protocol';
import type { McpHealth } from '@hermes-fleet/protocol/handshake';
import { logWith, raceSignal } from '@hermes-fleet/protocol/ports';
import {
  type CallOptions,
  type McpToolResult,
  type OnOperation,
  Pings,
  resultOfCall,
  timed,
} from './call-tool.ts';
import type { Connection, McpTool } from './connection.ts';
import { deadline, TimeoutError } from './deadline.ts';
import { describeFailure, isAnswer } from './failure.ts';
import { Session, type SessionOptions, unavailable } from './reconnecting-session.ts';

/** The result of a health check. `checkedAt` is in ms since the epoch, 0 before the first. */
export interface Health {
  readonly state: McpHealth;
  readonly detail: string;
  readonly checkedAt: number;
}

type SessionCallbacks = 'onConnect' | 'onLost' | 'onRetry' | 'onToolsChanged';

export interface ServerOptions extends Omit<SessionOptions, SessionCallbacks> {
  readonly onOperation: OnOperation;
  /** Called when the health's state has changed, or the server says that its tools have. */
  readonly onChange: (what: 'state' | 'tools') => void;
}

/** Exceeds the time limits of a connection attempt and a ping together. */
const MEASURE_MS = 20_000;
const LIST_MS = 10_000;

/** One configured MCP server: health checks and tool calls over one session (docs/agent.md#mcp-servers). */
export class MonitoredServer {
  readonly #options: ServerOptions;
  readonly #session: Session;
  readonly #pings: Pings;
  #health: Health;
  #measurement: Promise<void> | undefined;
  #tools: Promise<McpTool[]> | undefined;
  #callsInFlight = 0;

  constructor(options: ServerOptions) {
    this.#options = { ...options, log: logWith(options.log, { server: options.name }) };
    this.#pings = new Pings(options.clock);
    this.#health = options.config.disabled
      ? { state: 'disabled', detail: 'disabled in the configuration', checkedAt: options.clock.now() }
      : { state: 'error', detail: 'not connected yet', checkedAt: 0 };
    this.#session = new Session({
      ...this.#options,
      onConnect: (outcome, seconds) => options.onOperation('connect', outcome, seconds),
      onLost: (failure) => this.#record(describeFailure(failure)),
      onRetry: () => void this.#measure(),
      onToolsChanged: (why) => {
        this.#tools = undefined;
        if (why === 'told') options.onChange('tools');
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
  async callTool(tool: string, args: JsonObject, options: CallOptions): Promise<McpToolResult> {
    const { name, clock } = this.#options;
    this.#callsInFlight += 1;
    try {
      return await resultOfCall({ server: name, tool, clock }, options, (signal) =>
        this.#use('tools/call', signal, (connection) =>
          connection.callTool(tool, args, { signal, meta: options.meta }),
        ),
      );
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
      await this.#use('ping', limit.signal, (connection) => this.#pings.send(connection, limit.signal));
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
    if (!this.#pings.isHung(this.#callsInFlight)) return false;
    this.#options.log.warn({}, 'MCP server no longer answers; replacing its connection');
    return true;
  }

  #use<T>(method: string, signal: AbortSignal, run: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#session.use(signal, (connection) => timed(method, this.#options, () => run(connection)));
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
    if (before.state !== state) this.#options.onChange('state');
  }
}
