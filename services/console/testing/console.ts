import { setUpStreams } from '@hermes-fleet/events';
import { type NatsServer, startNatsServer } from '@hermes-fleet/events/testing';
import { type Clock, silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { type TestScope, tempDir } from '@hermes-fleet/protocol/testing';
import { createLogger } from '@hermes-fleet/service';
import { createConsole } from '../src/compose.ts';
import { type ConsoleConfig, ConsoleConfigSchema } from '../src/config/schema.ts';
import type { StaticFile } from '../src/web/static-files.ts';

export const LOGIN_SECRET = 'console-login-0123456789';

/** A page in place of the real one. */
export const TEST_PAGE: StaticFile = {
  path: '/',
  type: 'text/html; charset=utf-8',
  body: Buffer.from('<!doctype html><title>console</title>'),
  etag: '"page-1"',
  immutable: false,
};

/** A signed-in browser. */
export interface Browser {
  readonly cookie: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  json<T>(path: string): Promise<T>;
  /** Sends a request as a page of the console does. */
  send(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<Response>;
}

export interface TestConsole {
  readonly url: string;
  readonly nats: NatsServer;
  readonly stateDir: string;
  signIn(): Promise<Browser>;
  newCode(): Promise<string>;
  /** Waits until a document is as wanted. */
  until<T>(browser: Browser, path: string, isWanted: (document: T) => boolean): Promise<T>;
  /** Ends the console; the state stays. */
  stop(): Promise<void>;
  /** Starts it again on the same state, at a new address. */
  restart(): Promise<TestConsole>;
}

export interface TestConsoleOptions {
  readonly nats?: NatsServer;
  readonly stateDir?: string;
  readonly clock?: Clock;
  readonly config?: Partial<ConsoleConfig>;
  /** The page; default TEST_PAGE. */
  readonly web?: { readonly files: readonly StaticFile[]; readonly policy: string };
}

/** A real nats-server with the fleet's streams. */
export async function startBus(t: TestScope): Promise<NatsServer> {
  const nats = await startNatsServer({ after: (fn) => t.after(fn) });
  await setUpStreams({ connection: { servers: [nats.url], name: 'set-up' }, log: silentLog });
  return nats;
}

export function testConfig(natsUrl: string, more: Partial<ConsoleConfig> = {}): ConsoleConfig {
  const away = { url: 'http://127.0.0.1:1' };
  const profiles = { switch: away, neo: away, morpheus: away, trinity: away, trader: away };
  const console = { nats: { servers: [natsUrl] }, profiles, entry: 'switch' };
  return { ...ConsoleConfigSchema.parse({ console }).console, ...more };
}

/** A whole console on a free port, with a bus of its own unless one is given. */
export async function startTestConsole(t: TestScope, options: TestConsoleOptions = {}): Promise<TestConsole> {
  const nats = options.nats ?? (await startBus(t));
  const stateDir = options.stateDir ?? tempDir(t, { closeFirst: () => stop() });
  const opened = new AsyncDisposableStack();
  const made = createConsole(
    {
      config: testConfig(nats.url, options.config),
      stateDir,
      connection: { servers: [nats.url], name: 'console' },
      loginSecret: LOGIN_SECRET,
      clock: options.clock ?? systemClock,
      log: createLogger({ name: 'console', level: 'silent' }),
      web: options.web ?? { files: [TEST_PAGE], policy: "default-src 'none'" },
    },
    opened,
  );
  let isOpen = true;
  async function stop(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    for (const { run } of made.steps) await run();
  }
  t.after(stop);
  const url = await made.app.listen({ host: '127.0.0.1', port: 0 });

  const newCode = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${LOGIN_SECRET}` };
    const response = await fetch(`${url}/api/codes`, { method: 'POST', headers });
    const { code } = (await response.json()) as { code: string };
    return code;
  };
  const signIn = async (): Promise<Browser> => {
    const response = await fetch(`${url}/login?code=${await newCode()}`, { redirect: 'manual' });
    const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${url}${path}`, { headers: { cookie, ...headers } });
    const { csrf_token: csrf } = (await (await get('/api/session')).json()) as { csrf_token: string };
    return {
      cookie,
      get,
      json: async (path) => (await (await get(path)).json()) as never,
      send: (method, path, body) =>
        fetch(`${url}${path}`, {
          method,
          headers: {
            ...{ cookie, origin: url, 'x-csrf-token': csrf },
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
    };
  };
  return {
    url,
    nats,
    stateDir,
    signIn,
    newCode,
    until: async (browser, path, isWanted) => {
      for (;;) {
        const document = await browser.json(path);
        if (isWanted(document as never)) return document as never;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    stop,
    restart: async () => {
      await stop();
      return await startTestConsole(t, { ...options, nats, stateDir });
    },
  };
}
