import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { type BookKeeper, createBookKeeper, keepingBooks } from '../../src/books/book-keeper.ts';
import { registerReset } from '../../src/books/reset-route.ts';
import { registerBooks } from '../../src/books/routes.ts';
import type { Access } from '../../src/control/access.ts';
import { CONCERN, INTERVAL_MS, type Running, type RunningOptions, running } from '../running.ts';

export const tokenOf = (caller: string): string => `token-of-${caller}-0123456789`;

/** The callers: `reader` of all accounts, `foreigner` of another one, `decider` without the scope for reads. */
const ACCESS: Access = { accountsOf: (caller) => (caller === 'foreigner' ? ['another'] : '*') };

export interface OpenBooks extends Running {
  readonly keeper: BookKeeper;
  post(path: string, body: JsonObject, as?: string): Promise<Answered>;
  get(path: string, as?: string): Promise<Answered>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

/** A running engine on a real store, with its books behind a real listener. */
export async function openBooks(t: TestContext, o: RunningOptions = {}): Promise<OpenBooks> {
  let made: BookKeeper | undefined;
  const run = await running(t, {
    ...o,
    store: (store) => {
      made = createBookKeeper({
        books: store.books,
        concerns: [{ id: CONCERN.id, intervalMs: INTERVAL_MS }],
        clock: systemClock,
        log: silentLog,
        onBar: () => undefined,
      });
      return keepingBooks(store, made);
    },
  });
  const keeper = made ?? assertFound();
  const read = Promise.withResolvers<void>();
  keeper.start(read.resolve);
  await read.promise;
  const scopes = {
    operator: ['trader:read', 'trader:override'],
    reader: ['trader:read'],
    foreigner: ['trader:read', 'trader:override'],
    decider: ['trader:decide'],
  } as const;
  const app = createApp({
    name: 'trader',
    version: '0.1.0',
    log: createLogger({ name: 'trader', level: 'silent' }),
    bodyLimitBytes: 16_384,
    authenticate: createAuthenticator(
      Object.entries(scopes).map(([name, own]) => ({ name, scopes: own, secret: tokenOf(name) })),
    ),
    metrics: createMetrics({ profile: 'trader', peers: [], callers: [], defaultMetrics: false }),
    readiness: () => ({ ready: true, dependencies: {} }),
  });
  registerReset(app, {
    store: run.store,
    runtime: { view: (id) => run.runtime.view(id), resetAccount: (id) => run.runtime.resetAccount(id) },
    access: ACCESS,
  });
  registerBooks(app, { store: run.store, books: run.store.books, keeper, access: ACCESS });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(async () => {
    app.server.closeAllConnections();
    await app.close();
    await keeper.close();
  });
  return {
    ...run,
    // A restart replaces it.
    get runtime() {
      return run.runtime;
    },
    keeper,
    post: (path, body, as = 'operator') =>
      ask(path, as, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    get: (path, as = 'reader') => ask(path, as, {}),
  };

  async function ask(path: string, as: string, init: RequestInit): Promise<Answered> {
    const headers = { ...init.headers, authorization: `Bearer ${tokenOf(as)}` };
    const response = await fetch(`${url}${path}`, { ...init, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : null,
    };
  }
}

function assertFound(): never {
  throw new Error('the runtime took no store');
}
