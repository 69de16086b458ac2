import { FleetError } from '@hermes-fleet/protocol';

/** Why a call need not wait any longer. */
export const CALL_CANCELED = Symbol('the client canceled the call');
export const CALLER_GONE = Symbol('the client disconnected');
export const SERVER_CLOSING = Symbol('the service closes');

/** The name of a call: a JSON-RPC id is unique only among the calls of one client. */
export interface CallName {
  readonly caller: string;
  /** The `Mcp-Session-Id` of the request; undefined for a client that sends none. */
  readonly session: string | undefined;
  readonly id: string | number | null;
}

/** The open tool calls of a server, bounded per caller. */
export class OpenCalls {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();
  readonly #byName = new Map<string, Set<AbortController>>();
  readonly #open = new Set<AbortController>();
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(limitPerCaller: number) {
    this.#limit = limitPerCaller;
  }

  /** Opens a call until its answer is complete. Throws TOO_MANY_STREAMS above the caller's limit, and SHUTTING_DOWN after close(). */
  openCall(name: CallName) {
    const { caller } = name;
    if (this.#closing)
      throw new FleetError('SHUTTING_DOWN', 'this service is stopping; try again soon', { retryAfterS: 5 });
    const count = this.#counts.get(caller) ?? 0;
    if (count >= this.#limit)
      throw new FleetError(
        'TOO_MANY_STREAMS',
        `caller "${caller}" has ${this.#limit} open tool calls, the most allowed; wait for one of them`,
        { retryAfterS: 1 },
      );
    this.#counts.set(caller, count + 1);
    const controller = new AbortController();
    const key = keyOf(name);
    const named = this.#byName.get(key) ?? new Set();
    this.#byName.set(key, named.add(controller));
    this.#open.add(controller);
    return {
      /** Aborts with CALL_CANCELED, CALLER_GONE or SERVER_CLOSING. */
      signal: controller.signal,
      abort: (reason: typeof CALL_CANCELED | typeof CALLER_GONE) => controller.abort(reason),
      [Symbol.dispose]: (): void => {
        if (!this.#open.delete(controller)) return;
        if (this.#open.size === 0) this.#closing?.resolve();
        named.delete(controller);
        if (named.size === 0) this.#byName.delete(key);
        const left = (this.#counts.get(caller) ?? 1) - 1;
        if (left > 0) this.#counts.set(caller, left);
        else this.#counts.delete(caller);
      },
    };
  }

  /**
   * Aborts a call with CALL_CANCELED. Does nothing when the call has ended, or when it is not certain which one is meant:
   * without a session, two clients of one caller may use the same id.
   */
  cancel(name: CallName): void {
    const [only, ...others] = this.#byName.get(keyOf(name)) ?? [];
    if (others.length === 0) only?.abort(CALL_CANCELED);
  }

  /** Aborts every open call with SERVER_CLOSING, and lets none begin; resolves when the last one has ended. */
  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers<void>();
    if (this.#open.size === 0) this.#closing.resolve();
    for (const controller of this.#open) controller.abort(SERVER_CLOSING);
    return this.#closing.promise;
  }
}

const keyOf = ({ caller, session, id }: CallName): string => JSON.stringify([caller, session ?? null, id]);
