import type { Socket } from 'node:net';
import { FleetError } from '@hermes-fleet/protocol';

/** Abort reasons of an open call. */
export const CLIENT_GONE = Symbol('the client disconnected');
export const CLOSING = Symbol('the service closes');

/** The error of a call that a stopping service does not answer. */
export const shuttingDown = (): FleetError =>
  new FleetError('SHUTTING_DOWN', 'this service is stopping; try again soon', { retryAfterS: 5 });

export interface OpenCall extends Disposable {
  /** Aborts with CLIENT_GONE or CLOSING; with CLIENT_GONE also after the call, when its connection closes. */
  readonly signal: AbortSignal;
}

export type CallKind = 'send' | 'stream';

/** The registry of open calls: bounded per caller and kind, and ended by close(). */
export class OpenCalls {
  readonly #limits: Readonly<Record<CallKind, number>>;
  /** By caller: as many as the configuration has. */
  readonly #counts: Readonly<Record<CallKind, Map<string, number>>> = { send: new Map(), stream: new Map() };
  /** All calls of a connection share a signal, since they lose their client together. */
  readonly #connections = new Map<Socket, AbortController>();
  #open = 0;
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(limits: Readonly<Record<CallKind, number>>) {
    this.#limits = limits;
  }

  /** Throws TOO_MANY_STREAMS above the caller's limit and SHUTTING_DOWN after close(). */
  openCall(caller: string, kind: CallKind, connection: Socket): OpenCall {
    if (this.#closing !== undefined) {
      throw shuttingDown();
    }
    const counts = this.#counts[kind];
    const open = counts.get(caller) ?? 0;
    const limit = this.#limits[kind];
    if (open >= limit) {
      const calls = kind === 'stream' ? 'streams' : 'waiting SendMessage calls';
      throw new FleetError(
        'TOO_MANY_STREAMS',
        `caller "${caller}" has ${limit} open ${calls}, the most allowed; close one first`,
        { retryAfterS: 1 },
      );
    }
    const signal = this.#signalOf(connection);
    counts.set(caller, open + 1);
    this.#open += 1;
    return { signal, [Symbol.dispose]: () => this.#release(counts, caller) };
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
    const known = this.#connections.get(connection);
    if (known !== undefined) return known.signal;
    if (connection.closed) return AbortSignal.abort(CLIENT_GONE);
    const controller = new AbortController();
    this.#connections.set(connection, controller);
    connection.once('close', () => {
      this.#connections.delete(connection);
      controller.abort(CLIENT_GONE);
    });
    return controller.signal;
  }

  #release(counts: Map<string, number>, caller: string): void {
    counts.set(caller, (counts.get(caller) ?? 1) - 1);
    this.#open -= 1;
    if (this.#open === 0) this.#closing?.resolve();
  }
}
