import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { HANDSHAKE_EXTENSION, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { type Clock, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { buildAgentCard } from '../src/card/agent-card.ts';
import { createPushService, type PushService } from '../src/push/push-service.ts';
import type { PushOptions } from '../src/push/target.ts';
import { registerA2A } from '../src/register.ts';
import type { A2AOptions } from '../src/rpc/exchange.ts';
import { finish, type Script, type ScriptedIntake, scriptedIntake } from './script.ts';

export const TOKEN = 'token-of-switch-0123456789';
export const OTHER_TOKEN = 'token-of-other-0123456789';
export const ANNOUNCE_TOKEN = 'token-of-announcer-0123456789';
export const READ_TOKEN = 'token-of-reader-0123456789';
/** The token of a caller whose only scope is not one of A2A's. */
export const OWN_TOKEN = 'token-of-its-own-kind-0123456789';

export interface Served {
  readonly url: string;
  readonly rpcUrl: string;
  readonly app: FastifyInstance;
  readonly ledger: Ledger;
  readonly intake: ScriptedIntake;
  readonly logLines: string[];
  /** Not among the methods without `ServeOptions.pushes`. */
  readonly push: PushService;
  closeStreams(): Promise<void>;
  /** POSTs a body and reads the whole answer. */
  post(body: unknown, options?: PostOptions): Promise<Answer>;
  rpc(method: string, params?: JsonObject, options?: PostOptions): Promise<Answer>;
}

export interface PostOptions {
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly path?: string;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: JsonObject;
}

export interface ServeOptions extends Partial<Omit<A2AOptions, 'ledger' | 'intake' | 'log'>> {
  readonly script?: Script;
  readonly streaming?: boolean;
  /** The input modes of the card beside text and data. */
  readonly inputModes?: readonly string[];
  readonly clock?: Clock;
  readonly bodyLimitBytes?: number;
  /** Serves push notifications, which may go to loopback. */
  readonly pushes?: Partial<PushOptions>;
}

/** Starts a real server on a free port over a real ledger file; both are closed and removed after the test. */
export async function serve(t: TestContext, options: ServeOptions = {}): Promise<Served> {
  const dir = tempDir(t, { prefix: 'a2a-test-' });
  const logLines: string[] = [];
  const log = createLogger({
    name: 'neo',
    level: 'debug',
    stream: { write: (line) => void logLines.push(line) },
  });
  const ledger = openLedger({
    file: join(dir, 'ledger.db'),
    profile: 'neo',
    clock: systemClock,
    ids: systemIds,
    log,
  });
  const intake = scriptedIntake(
    ledger,
    options.script ?? ((id) => finish(ledger, id, 'done', { text: 'it is done' })),
  );
  const app = createApp({
    name: 'neo',
    version: '0.1.0',
    log,
    authenticate: createAuthenticator([
      { name: 'switch', scopes: ['announce', 'dispatch', 'read'], secret: TOKEN },
      { name: 'other', scopes: ['announce', 'dispatch', 'read'], secret: OTHER_TOKEN },
      { name: 'announcer', scopes: ['announce'], secret: ANNOUNCE_TOKEN },
      { name: 'reader', scopes: ['read'], secret: READ_TOKEN },
      { name: 'own', scopes: ['own:send'], secret: OWN_TOKEN },
    ]),
    ...(options.bodyLimitBytes === undefined ? {} : { bodyLimitBytes: options.bodyLimitBytes }),
    metrics: createMetrics({ profile: 'neo', peers: [], callers: [], defaultMetrics: false }),
    readiness: () => ({ ready: true, dependencies: {} }),
  });
  const card: A2AOptions['card'] = ({ host, protocol }) =>
    buildAgentCard({
      identity: '---\nname: neo\ndescription: Works.\n---\n## Skills\n- Build: builds things\n',
      url: `${protocol}://${host}/jsonrpc`,
      version: '0.1.0',
      extensions: [{ uri: HANDSHAKE_EXTENSION, params: { protocol_versions: ['2.0'] } }],
      streaming: options.streaming ?? true,
      authRequired: true,
      pushNotifications: options.pushes !== undefined,
      ...(options.inputModes === undefined ? {} : { inputModes: options.inputModes }),
    });
  const push = createPushService({
    ledger,
    clock: systemClock,
    log,
    rules: { allowInternal: ['127.0.0.1'] },
    limits: { perTask: 10, perCaller: 100 },
    giveUpAfterMs: 60_000,
    rpcUrl: () => `${app.listeningOrigin}/jsonrpc`,
    ...options.pushes,
  });
  t.after(async () => {
    await push.stop();
    await ledger.close();
  });
  const { closeStreams } = registerA2A(app, {
    card,
    extensions: [HANDSHAKE_EXTENSION],
    clock: systemClock,
    ...(options.pushes === undefined ? {} : { push }),
    ...options,
    ledger,
    intake,
    log,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(async () => {
    await closeStreams();
    // fetch opens spare connections after an aborted call, and Node counts them as busy.
    app.server.closeAllConnections();
    await app.close();
  });

  const post: Served['post'] = async (body, { token = TOKEN, headers, path = '/jsonrpc', signal } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? {} : JSON.parse(text);
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJsonObject(parsed) ? parsed : {},
    };
  };
  const rpc: Served['rpc'] = (method, params = {}, more) =>
    post({ jsonrpc: '2.0', id: 7, method, params }, more);
  return { url, rpcUrl: `${url}/jsonrpc`, app, ledger, intake, logLines, push, closeStreams, post, rpc };
}

export function message(text: string, more: JsonObject = {}): JsonObject {
  return { message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text }], ...more } };
}

export function dispatchMessage(taskId: string, more: JsonObject = {}): JsonObject {
  const data = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: taskId },
    brief: 'do it',
    ...more,
  };
  return {
    message: {
      messageId: 'm-1',
      role: 'ROLE_USER',
      parts: [{ data, mediaType: 'application/vnd.hermes.handshake+json' }],
    },
  };
}

/** The value at a path of keys and indices; undefined when the path does not exist. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>((found, key) => {
    if (Array.isArray(found)) return found[Number(key)];
    return isJsonObject(found) ? found[key] : undefined;
  }, value);
}
