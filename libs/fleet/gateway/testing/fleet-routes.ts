import type { TestContext } from 'node:test';
import { announceOf, manualClock, type peerOf } from '@hermes-fleet/peers/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { registerFleetRoutes } from '../src/http/routes.ts';
import { profile } from './profile.ts';
import type { ProfileOptions } from './test-profile.ts';

export const TOKENS = {
  operator: 'token-of-the-operator',
  reader: 'token-of-a-reader',
  sender: 'token-of-a-sender',
};
export const SECRET = 'a-secret-that-no-answer-holds';

export interface Reply {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
  readonly body: any;
}
export type Ask = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  payload?: unknown,
  token?: string,
) => Promise<Reply>;

/** The routes with a real gateway and ledger; `peers` replaces the gateway's peers. */
export async function routes(t: TestContext, o: ProfileOptions, peers?: ReturnType<typeof peerOf>[]) {
  const one = await profile(t, { defaultBudget: 9_000, ...o });
  const { gateway, ledger } = one;
  const app = createApp({
    name: one.name,
    version: '0',
    log: createLogger({ name: 'test', level: 'silent' }),
    metrics: createMetrics({ profile: one.name, peers: [], callers: [], defaultMetrics: false }),
    authenticate: createAuthenticator([
      { name: 'operator', scopes: ['announce', 'dispatch', 'read'], secret: TOKENS.operator },
      { name: 'reader', scopes: ['read'], secret: TOKENS.reader },
      { name: 'sender', scopes: ['dispatch', 'announce'], secret: TOKENS.sender },
    ]),
    readiness: () => ({ ready: true, dependencies: {} }),
  });
  registerFleetRoutes(app, {
    profile: one.name,
    gateway,
    ledger,
    clock: manualClock(),
    peers: peers ? { list: () => peers } : one.peers,
    countCache: false,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  const ask: Ask = async (method, path, payload, token = TOKENS.operator) => {
    const reply = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await reply.text();
    return { status: reply.status, text, body: JSON.parse(text) };
  };
  return { one, ask, url, tasks: () => ledger.list({ pageSize: 1 }).totalSize };
}

export const dispatch = (rest: JsonObject = {}, task: JsonObject = {}): JsonObject => ({
  type: 'TASK_DISPATCH',
  protocol_version: '2.0',
  task: { task_id: 'asked', ...task },
  brief: 'do it',
  ...rest,
});

/** An orchestrator with announces of two workers, one of them without the server `memory`. */
export async function orchestrator(t: TestContext) {
  const setup = await routes(t, {
    name: 'switch',
    agents: { neo: 1, trinity: 2 },
    fleet: { orchestrate: true },
  });
  const { peers } = setup.one;
  await peers.record(announceOf('neo'), { name: 'neo' });
  const bare = announceOf('trinity', { capabilities: { mcpServers: [], tools: ['terminal'] } });
  await peers.record(bare, { name: 'trinity' });
  return setup;
}
