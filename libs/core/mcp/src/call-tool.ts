import type { JsonObject } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Connection } from './connection.ts';
import { boundText, contentText, oneLine } from './content.ts';
import { deadline, TimeoutError } from './deadline.ts';
import { describeFailure, isAnswer } from './failure.ts';
import { unavailable } from './reconnecting-session.ts';

export interface McpToolResult {
  readonly isError: boolean;
  /** At most 64 kB. */
  readonly content: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  /** Includes the wait for an instance and its start. */
  readonly timeoutMs: number;
  readonly meta?: JsonObject;
}

export type OnOperation = (method: string, outcome: string, seconds: number) => void;

/** Runs a call within its time limit. Failures are results that a model can act on; only the signal rejects. */
export async function resultOfCall(
  { server, tool, clock }: { readonly server: string; readonly tool: string; readonly clock: Clock },
  options: CallOptions,
  call: (signal: AbortSignal) => Promise<CallToolResult>,
): Promise<McpToolResult> {
  options.signal.throwIfAborted();
  using limit = deadline(clock, options.timeoutMs, options.signal);
  try {
    const result = await call(limit.signal);
    return { isError: result.isError ?? false, content: contentText(result) };
  } catch (error) {
    options.signal.throwIfAborted();
    return { isError: true, content: boundText(failureText(server, tool, error)) };
  }
}

function failureText(server: string, tool: string, error: unknown): string {
  const prefix = `tool "${tool}" of MCP server "${server}"`;
  // The model may see the server's own message; health details, which callers see, must not contain it.
  if (isAnswer(error)) return `${prefix}: answered with error ${error.code}: ${oneLine(error.message)}`;
  if (error instanceof TimeoutError) return `${prefix}: ${error.message}`;
  return unavailable(server, error).message;
}

/** Reports the duration of one operation with its outcome: ok, timeout or error. */
export async function timed<T>(
  method: string,
  { clock, onOperation }: { readonly clock: Clock; readonly onOperation: OnOperation },
  run: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.now();
  let outcome = 'ok';
  try {
    return await run();
  } catch (error) {
    outcome = describeFailure(error).state;
    throw error;
  } finally {
    onOperation(method, outcome, (clock.now() - startedAt) / 1000);
  }
}

const PING_MS = 5_000;
/** A server that misses this many pings in a row is hung. */
const MAX_SILENT_PINGS = 3;
/** With one ping every 15 s this exceeds the longest call: a busy server answers pings between its calls. */
const MAX_SILENT_PINGS_IN_CALLS = 10;

/** Pings a server, and counts the pings in a row that it did not answer. */
export class Pings {
  readonly #clock: Clock;
  #silent = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rejects when the server does not answer within 5 s, or answers with an error. */
  async send(connection: Connection, signal: AbortSignal): Promise<void> {
    using limit = deadline(this.#clock, PING_MS, signal);
    this.#silent += 1;
    try {
      await connection.ping(limit.signal);
      this.#silent = 0;
    } catch (error) {
      if (isAnswer(error)) this.#silent = 0;
      throw error;
    }
  }

  /** True when the server must be replaced; the count then starts anew. */
  isHung(callsInFlight: number): boolean {
    if (this.#silent < (callsInFlight > 0 ? MAX_SILENT_PINGS_IN_CALLS : MAX_SILENT_PINGS)) return false;
    this.#silent = 0;
    return true;
  }
}
