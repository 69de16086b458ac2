import type { Socket } from 'node:net';
import { FleetError } from '@hermes-fleet/protocol';

/** Abort reasons of an open call. */
export const CLIENT_GONE = Symbol('the client disconnected');
export const CLOSING = Symbol('the service closes');

export interface OpenCall extends Disposable {
  /** Aborts with CLIENT_GONE or CLOSING; with CLIENT_GONE also after the call, when its connection closes. */
  readonly signal: AbortSignal;
}

export type CallKind = 'send' | 'stream';

/** The registry of open calls: bounded per caller and kind, and ended by close(). */
export class OpenCalls {
  readonly #limits: Readonly<Record<CallKind, number>>;
  readonly #counts = new Map<string, number>();
  /** All calls of a connection share a signal, since they lose their client together. */
  readonly #connections = new Map<Socket, AbortController>();
  #open = 0;
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(limits: Readonly<Record<CallKind, number>>) {
    this.#limits = limits;
  }

  /** Throws TOO_MANY_STREAMS above the caller's limit and SHUTTING_DOWN after close(). */
  open(caller: string, kind: CallKind, connection: Socket): OpenCall {
    if (this.#closing !== undefined) {
      throw new FleetError('SHUTTING_DOWN', 'this service is stopping; try again soon', { retryAfterS: 5 });
    }
    const key = `${kind} ${caller}`;
    const count = this.#counts.get(key) ?? 0;
    const limit = this.#limits[kind];
    if (count >= limit) {
      const calls = kind === 'stream' ? 'streams' : 'waiting SendMessage calls';
      throw new FleetError(
        'TOO_MANY_STREAMS',
        `caller "${caller}" has ${limit} open ${calls}, the most allowed; close one first`,
        { retryAfterS: 1 },
      );
    }
    const signal = this.#signalOf(connection);
    this.#counts.set(key, count + 1);
    this.#open += 1;
    return { signal, [Symbol.dispose]: () => this.#release(key) };
  }

  get size(): number {
    return this.#open;
  }

  /** Aborts every open call with CLOSING; resolves when the last one has been released. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers<void>();
      if (this.#open === 0) this.#closing.resolve();
      for (const controller of this.#connections.values()) controller.abort(CLOSING);
    }
    return this.#closing.promise;
  }

  #signalOf(connection: Socket): AbortSignal {
    if (connection.closed) return AbortSignal.abort(CLIENT_GONE);
    const known = this.#connections.get(connection);
    if (known !== undefined) return known.signal;
    const controller = new AbortController();
    this.#connections.set(connection, controller);
    connection.once('close', () => {
      this.#connections.delete(connection);
      controller.abort(CLIENT_GONE);
    });
    return controller.signal;
  }

  #release(key: string): void {
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
    this.#open -= 1;
    if (this.#open === 0) this.#closing?.resolve();
  }
}
