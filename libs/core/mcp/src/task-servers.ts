import type { JsonObject } from '@hermes-fleet/protocol';
import { isWithin, raceSignal } from '@hermes-fleet/protocol/ports';
import {
  type CallOptions,
  type McpToolResult,
  type OnOperation,
  Pings,
  resultOfCall,
  timed,
} from './call-tool.ts';
import { rootedAt, type StdioServerConfig } from './config.ts';
import { TimeoutError } from './deadline.ts';
import { describeFailure, ServerFailure } from './failure.ts';
import { Session, type SessionOptions } from './reconnecting-session.ts';
import type { ServerPlace } from './server-process.ts';

/** The place of a task: its context, whose tasks share the instances, and the context's tree. */
export interface TaskPlace extends ServerPlace {
  readonly context: string;
}

export interface TaskServersOptions
  extends Pick<SessionOptions, 'clock' | 'log' | 'random' | 'environment' | 'supervise'> {
  /** The most instances at a time, of all servers and contexts. */
  readonly maxInstances: number;
  /** An instance without a call ends after this time. */
  readonly idleMs: number;
  /** Called after each `tools/call` with the server's name. */
  readonly onOperation: (server: string, ...operation: Parameters<OnOperation>) => void;
}

interface Instance {
  readonly key: string;
  readonly server: string;
  readonly context: string;
  readonly session: Session;
  readonly pings: Pings;
  calls: number;
  isPinged: boolean;
  idle: Disposable | undefined;
}

/** The longest wait for the end of an instance's processes. */
const END_MS = 5_000;

/**
 * The instances of servers of scope `task` (docs/agent.md#mcp-servers): one for each server and context, started by its
 * first call, in the tree of its context and confined to it. An instance ends when it is idle, when another one needs its
 * place, when its context is released, and when it does not answer.
 */
export class TaskServers {
  readonly #options: TaskServersOptions;
  /** In order of use, the longest unused one first. */
  readonly #live = new Map<string, Instance>();
  readonly #ending = new Map<Promise<void>, string>();
  /** Servers whose last start failed; the log has it. */
  readonly #failing = new Set<string>();
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  constructor(options: TaskServersOptions) {
    this.#options = options;
  }

  /** Calls a tool of the context's own instance. The time limit includes the wait for a place and the start. */
  callTool(
    { server, config, place }: { server: string; config: StdioServerConfig; place: TaskPlace },
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<McpToolResult> {
    const { clock, onOperation } = this.#options;
    const operation = { clock, onOperation: onOperation.bind(undefined, server) };
    return resultOfCall({ server, tool, clock }, options, async (signal) => {
      const instance = await this.#takeInstance(server, config, place, signal);
      try {
        return await instance.session.use(signal, (connection) =>
          timed('tools/call', operation, () =>
            connection.callTool(tool, args, { signal, meta: options.meta }),
          ),
        );
      } finally {
        this.#giveBack(instance);
      }
    });
  }

  /** Pings all instances; one that stays silent ends. */
  check(): void {
    for (const instance of this.#live.values()) void this.#ping(instance);
  }

  /** Ends the instances of a context. Resolves when their processes are gone, after at most 5 s. */
  async release(context: string): Promise<void> {
    for (const instance of [...this.#live.values()]) if (instance.context === context) this.#end(instance);
    await Promise.all([...this.#ending].flatMap(([ended, its]) => (its === context ? [ended] : [])));
  }

  pids(): number[] {
    return [...this.#live.values()].flatMap(({ session }) => session.pids());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const instance of [...this.#live.values()]) this.#end(instance);
    this.#wake();
    await Promise.all(this.#ending.keys());
  }

  async #takeInstance(
    server: string,
    config: StdioServerConfig,
    place: TaskPlace,
    signal: AbortSignal,
  ): Promise<Instance> {
    const key = JSON.stringify([server, place.context]);
    for (;;) {
      if (this.#isClosed) throw new ServerFailure('the gateway is shutting down');
      if (config.disabled) throw new ServerFailure('disabled in the configuration');
      const found = this.#live.get(key) ?? this.#start(key, server, config, place);
      if (found) {
        this.#live.delete(key);
        this.#live.set(key, found);
        found.idle?.[Symbol.dispose]();
        found.calls += 1;
        return found;
      }
      // Places that are becoming free come before taking one away.
      const unused = this.#ending.size > 0 ? undefined : this.#live.values().find(({ calls }) => calls === 0);
      if (unused) this.#end(unused);
      await this.#change(signal);
    }
  }

  /** Returns undefined when there is no free place. The process starts with the first use of the session. */
  #start(key: string, server: string, config: StdioServerConfig, place: TaskPlace): Instance | undefined {
    const { clock, maxInstances } = this.#options;
    if (this.#live.size + this.#ending.size >= maxInstances) return undefined;
    const { context } = place;
    const session = new Session({
      ...this.#options,
      name: server,
      config: rootedAt(config, place.dir),
      launch: (command, args) => place.wrap(command, args),
      onConnect: (outcome, _seconds, failure) => {
        if (outcome === 'ok') this.#failing.delete(server);
        else this.#onStartFailure(instance, failure);
      },
      onLost: ({ message: detail }) => {
        this.#options.log.warn({ server, context, detail }, 'an instance of an MCP server was lost');
        this.#end(instance);
      },
      onRetry: () => {},
      onToolsChanged: () => {},
    });
    const pings = new Pings(clock);
    const instance: Instance = {
      key,
      server,
      context,
      session,
      pings,
      calls: 0,
      isPinged: false,
      idle: undefined,
    };
    return instance;
  }

  /** Logs the first failure in a row of a server. */
  #onStartFailure(instance: Instance, failure: unknown): void {
    this.#end(instance);
    const { server, context } = instance;
    if (this.#failing.has(server)) return;
    this.#failing.add(server);
    const { detail } = describeFailure(failure);
    this.#options.log.warn({ server, context, detail }, 'an instance of an MCP server could not be started');
  }

  /** Waits until a call or an instance has ended. */
  async #change(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await raceSignal(promise, signal);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      const { maxInstances } = this.#options;
      throw new ServerFailure(
        `all ${maxInstances} places for servers of scope task are in use; ${error.message}`,
      );
    } finally {
      this.#waiting.delete(resolve);
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }

  #giveBack(instance: Instance): void {
    const { clock, idleMs } = this.#options;
    instance.calls -= 1;
    if (instance.calls === 0 && this.#isLive(instance))
      instance.idle = clock.timer(() => this.#end(instance), idleMs);
    this.#wake();
  }

  #isLive(instance: Instance): boolean {
    return this.#live.get(instance.key) === instance;
  }

  #end(instance: Instance): void {
    if (!this.#isLive(instance)) return;
    this.#live.delete(instance.key);
    instance.idle?.[Symbol.dispose]();
    const ended = this.#ended(instance).finally(() => {
      this.#ending.delete(ended);
      this.#wake();
    });
    this.#ending.set(ended, instance.context);
  }

  async #ended({ server, context, session }: Instance): Promise<void> {
    const { clock, log } = this.#options;
    if (!(await isWithin(session.close(), END_MS, clock)))
      log.error(
        { server, context, pids: session.pids() },
        'an instance of an MCP server did not end in time',
      );
  }

  async #ping(instance: Instance): Promise<void> {
    if (instance.isPinged) return;
    instance.isPinged = true;
    const { session, pings, server, context } = instance;
    try {
      await session.use(session.signal, (connection) => pings.send(connection, session.signal));
    } catch (error) {
      if (!(error instanceof TimeoutError) || !pings.isHung(instance.calls)) return;
      this.#options.log.warn(
        { server, context },
        'an instance of an MCP server no longer answers; ending it',
      );
      this.#end(instance);
    } finally {
      instance.isPinged = false;
    }
  }
}
