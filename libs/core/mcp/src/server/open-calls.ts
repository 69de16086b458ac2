import { FleetError } from '@hermes-fleet/protocol';

/** Why a call need not wait any longer. */
export const CALL_CANCELED = Symbol('the client canceled the call');
export const CALLER_GONE = Symbol('the client disconnected');
const SERVER_CLOSING = Symbol('the service closes');

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
  readonly #open = new Set<{ readonly name: CallName; readonly controller: AbortController }>();
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(limitPerCaller: number) {
    this.#limit = limitPerCaller;
  }

  /** Opens a call until its answer is complete. Throws TOO_MANY_STREAMS above the caller's limit, and SHUTTING_DOWN after close(). */
  openCall(name: CallName) {
    const { caller } = name;
    if (this.#closing)
      throw new FleetError('SHUTTING_DOWN', 'this service is stopping; try again soon', { retryAfterS: 5 });
    if ([...this.#open].filter((other) => other.name.caller === caller).length >= this.#limit)
      throw new FleetError(
        'TOO_MANY_STREAMS',
        `caller "${caller}" has ${this.#limit} open tool calls, the most allowed; wait for one of them`,
        { retryAfterS: 1 },
      );
    const controller = new AbortController();
    const call = { name, controller };
    this.#open.add(call);
    return {
      /** Aborts with CALL_CANCELED, CALLER_GONE or SERVER_CLOSING. */
      signal: controller.signal,
      abort: (reason: typeof CALL_CANCELED | typeof CALLER_GONE) => controller.abort(reason),
      [Symbol.dispose]: (): void => {
        if (this.#open.delete(call) && this.#open.size === 0) this.#closing?.resolve();
      },
    };
  }

  /**
   * Aborts a call with CALL_CANCELED. Does nothing when the call has ended, or when it is not certain which one is meant:
   * without a session, two clients of one caller may use the same id.
   */
  cancel({ caller, session, id }: CallName): void {
    const [only, ...others] = [...this.#open].filter(
      ({ name }) => name.caller === caller && name.session === session && name.id === id,
    );
    if (others.length === 0) only?.controller.abort(CALL_CANCELED);
  }

  /** Aborts every open call with SERVER_CLOSING, and lets none begin; resolves when the last one has ended. */
  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers<void>();
    if (this.#open.size === 0) this.#closing.resolve();
    for (const { controller } of this.#open) controller.abort(SERVER_CLOSING);
    return this.#closing.promise;
  }
}
