import { FleetError } from '@hermes-fleet/protocol';

/** Abort reasons of an open call. */
export const CLIENT_GONE = Symbol('the client disconnected');
export const CLOSING = Symbol('the service closes');

export interface OpenCall extends Disposable {
  /** Aborts with GONE or CLOSING as its reason. */
  readonly signal: AbortSignal;
  /** Aborts the call, unless it was released: its connection also closes after the reply. */
  clientGone(): void;
}

export type CallKind = 'send' | 'stream';

/** The registry of open calls: bounded per caller and kind, and ended by close(). */
export class OpenCalls {
  readonly #limits: Readonly<Record<CallKind, number>>;
  readonly #counts = new Map<string, number>();
  readonly #open = new Set<AbortController>();
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(limits: Readonly<Record<CallKind, number>>) {
    this.#limits = limits;
  }

  /** Throws TOO_MANY_STREAMS above the caller's limit and SHUTTING_DOWN after close(). */
  open(caller: string, kind: CallKind): OpenCall {
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
    this.#counts.set(key, count + 1);
    const controller = new AbortController();
    this.#open.add(controller);
    return {
      signal: controller.signal,
      clientGone: () => {
        if (this.#open.has(controller)) controller.abort(CLIENT_GONE);
      },
      [Symbol.dispose]: () => this.#release(key, controller),
    };
  }

  get size(): number {
    return this.#open.size;
  }

  /** Aborts every open call with CLOSING; resolves when the last one has been released. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers<void>();
      if (this.#open.size === 0) this.#closing.resolve();
      for (const controller of [...this.#open]) controller.abort(CLOSING);
    }
    return this.#closing.promise;
  }

  #release(key: string, controller: AbortController): void {
    if (!this.#open.delete(controller)) return;
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
    if (this.#open.size === 0) this.#closing?.resolve();
  }
}
