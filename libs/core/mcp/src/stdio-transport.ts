import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type Clock, isWithin, type Log } from '@hermes-fleet/protocol/ports';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { ServerFailure } from './failure.ts';
import { createLineLog } from './line-log.ts';
import { MessageBuffer } from './message-buffer.ts';
import { isGone, type ServerLine, type Supervise, type Supervision } from './server-process.ts';

/** The time limit for each step of termination: after the end of input, then after SIGTERM. */
const GRACE_MS = 150;
/** The longest time between a closed input and the exit event of the same process. */
const EXIT_EVENT_MS = 1_000;
/** The longest time to read output after the exit, while a descendant holds the pipe open. */
const DRAIN_MS = 200;
/** The limits of unread input: a server that floods requests without reading must not make replies pile up. */
const MAX_PENDING = { messages: 1_000, bytes: 10_000_000 };

export interface StdioTransportOptions {
  readonly line: ServerLine;
  readonly supervise: Supervise;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * MCP over the stdio of a child process, which leads its own process group. `env` is its complete environment. Its stderr
 * goes to the debug log.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when the process has exited and its group is killed, or when it failed to start. */
  readonly exited: Promise<void>;
  readonly #options: StdioTransportOptions;
  readonly #buffer = new MessageBuffer();
  readonly #resolveExited: () => void;
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #supervision: Supervision | undefined;
  #hasExited = false;
  #hasReceived = false;
  #closing: Promise<void> | undefined;
  #failure: ServerFailure | undefined;
  #hasPrintedOther = false;
  #pendingWrites = 0;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.exited = promise;
    this.#resolveExited = resolve;
  }

  /** The failure that the process shows: how it exited, or that it does not speak MCP. */
  get failure(): ServerFailure | undefined {
    if (this.#failure || !this.#hasPrintedOther) return this.#failure;
    return new ServerFailure('prints something that is not MCP on its stdout');
  }

  /** The pid of the group leader while it runs. */
  get pid(): number | undefined {
    return this.#hasExited ? undefined : this.#child?.pid;
  }

  start(): Promise<void> {
    let child: ChildProcessByStdio<Writable, Readable, Readable>;
    try {
      child = this.#spawn();
    } catch (error) {
      return Promise.reject(this.#startFailure(error));
    }
    this.#child = child;
    this.#drainStderr(child.stderr);
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.on('exit', (code, signal) => this.#onExit(code, signal));
    child.on('close', () => this.onclose?.());
    return new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.on('error', (error) => {
        if (child.pid === undefined) reject(this.#startFailure(error));
        else this.onerror?.(error);
      });
    });
  }

  #spawn() {
    const { line, supervise, env, cwd } = this.#options;
    this.#supervision = supervise(line);
    const child = spawn(line.command, [...line.args], {
      env: { ...env, ...this.#supervision.env },
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    if (child.pid !== undefined) this.#supervision.started(child.pid, (limit) => this.#endFor(limit));
    return child;
  }

  /** The first reason stays, because the exit that it causes says less. */
  #endFor(limit: string): void {
    if (this.#hasExited) return;
    this.#failure ??= new ServerFailure(`ended: ${limit}`);
    this.#signal((pid) => this.#supervision?.kill(pid));
  }

  #startFailure(error: unknown): ServerFailure {
    const { line, cwd } = this.#options;
    this.#supervision?.[Symbol.dispose]();
    this.#hasExited = true;
    this.#resolveExited();
    this.#failure = new ServerFailure(cannotStart(line.command, cwd, error), { cause: error });
    return this.#failure;
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) return Promise.reject(this.#failure ?? new ServerFailure('its input is closed'));
    if (this.#pendingWrites >= MAX_PENDING.messages || stdin.writableLength > MAX_PENDING.bytes) {
      this.#failure ??= new ServerFailure('does not read its input');
      void this.close();
      return Promise.reject(this.#failure);
    }
    this.#pendingWrites += 1;
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => {
        this.#pendingWrites -= 1;
        if (error) void this.#closeReason(error).then(reject);
        else resolve();
      });
    });
  }

  /** An exiting process closes its input first; its exit is the more specific reason. */
  async #closeReason(error: Error): Promise<Error> {
    await this.#exitedWithin(EXIT_EVENT_MS);
    return this.#failure ?? error;
  }

  /** Terminates all processes of the server: closes the input, then SIGTERM, then SIGKILL after 300 ms. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (!child || this.#hasExited) return;
    child.stdin.end();
    if (await this.#exitedWithin(GRACE_MS)) return;
    this.#signal((pid) => process.kill(-pid, 'SIGTERM'));
    if (await this.#exitedWithin(GRACE_MS)) return;
    this.#signal((pid) => this.#supervision?.kill(pid));
    await this.exited;
  }

  #exitedWithin(ms: number): Promise<boolean> {
    return isWithin(this.exited, ms, this.#options.clock);
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.#failure = new ServerFailure('printed more than 10 MB without a line end', { cause: error });
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.#hasReceived = true;
        this.#hasPrintedOther = false;
        this.onmessage?.(message);
      } catch (error) {
        // Stray lines from a server that has spoken MCP are not a failure.
        this.#hasPrintedOther = !this.#hasReceived;
        this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    // Descendants of the server must not outlive it.
    this.#signal((pid) => this.#supervision?.kill(pid));
    // It may say that the kernel ended the server for a limit.
    this.#supervision?.[Symbol.dispose]();
    this.#hasExited = true;
    const suffix = this.#hasPrintedOther ? ' after printing something that is not MCP' : '';
    this.#failure ??= new ServerFailure(exitText(code, signal) + suffix);
    this.#resolveExited();
    this.#options.clock.timer(() => {
      this.#child?.stdout.destroy();
      this.#child?.stderr.destroy();
    }, DRAIN_MS);
  }

  #signal(send: (pid: number) => void): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      send(pid);
    } catch (error) {
      if (!isGone(error))
        this.#options.log.error({ err: error, pid }, 'an MCP server could not be signalled');
    }
  }

  #drainStderr(stderr: Readable): void {
    const { clock, log } = this.#options;
    const lines = createLineLog(clock, (line) => log.debug({ stderr: line }, 'MCP server wrote to stderr'));
    stderr.setEncoding('utf8');
    stderr.on('data', (chunk: string) => lines.push(chunk));
    stderr.on('close', () => lines.end());
  }
}

function cannotStart(command: string, cwd: string | undefined, error: unknown): string {
  const name = basename(command);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') {
    return cwd === undefined
      ? `command not found: ${name}`
      : `command not found: ${name} (or its cwd is missing)`;
  }
  if (code === 'EACCES') return `command is not executable: ${name}`;
  return `command ${name} could not be started (${code ?? 'unknown reason'})`;
}

function exitText(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `process was ended by ${signal}`;
  if (code === 127) return 'process exited with code 127 (command not found)';
  if (code === 126) return 'process exited with code 126 (command not executable)';
  return `process exited with code ${code}`;
}
