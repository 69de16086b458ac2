import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { createPeerRegistry, createWorkerDirectory } from '@hermes-fleet/peers';
import { CHALLENGE_PATH, FleetError, type JoinChallenge, joinProof } from '@hermes-fleet/protocol';
import { silentLog, systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { registerJoinRoutes } from '../src/joining/join-routes.ts';
import { createJoining } from '../src/joining/joining.ts';

export const OPERATOR = 'token-of-the-operator';
export const READER = 'token-of-a-reader';
export const TOKEN_TO_WORKER = 'presented-to-the-worker-0123456789abcdef';

/** The token that a worker of this name presents. */
export const presented = (name: string): string => `presented-by-${name}`;

/** The body of a worker's request to join. */
export const request = (name: string, endpoint: string, more: object = {}) => ({
  name,
  endpoint,
  token_digest: `sha256:${hash('sha256', presented(name))}`,
  token: TOKEN_TO_WORKER,
  ...more,
});

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
type Body = any;

/** An orchestrator with a real ledger and a real listener, and a clock that stands still. */
export async function joiningApp(
  t: TestContext,
  fleet: object = {},
  { maxWorkers }: { readonly maxWorkers?: number } = {},
) {
  let close = async (): Promise<void> => undefined;
  const dir = tempDir(t, { closeFirst: () => close() });
  const clock = manualClock();
  const config = FleetConfigSchema.parse({
    fleet: {
      orchestrate: true,
      server: { bind_port: 9219, callers: { morpheus: { token_env: 'M', scopes: ['announce'] } } },
      agents: { neo: { url: 'http://127.0.0.1:9220' } },
      join: { endpoints: ['http://127.0.0.1:*'] },
      ...fleet,
    },
  });
  async function open() {
    const ledger = openLedger({
      file: join(dir, 'l.db'),
      profile: 'switch',
      clock,
      ids: systemIds,
      log: silentLog,
    });
    const directory = createWorkerDirectory(ledger.joins);
    const policy = {
      callers: { morpheus: { joins: true, speaksFor: ['morpheus-*'] } },
      endpoints: config.fleet.join?.endpoints ?? [],
      own: ['http://127.0.0.1:9219/jsonrpc'],
    };
    const configured = { neo: { url: 'http://127.0.0.1:9220/jsonrpc' } };
    const peers = createPeerRegistry({
      ledger,
      configured,
      join: { ...policy, workers: directory },
      clock,
      log: silentLog,
      self: 'switch',
    });
    const client = createA2AClient({ clock, log: silentLog, extensions: [] });
    const unused = () => Promise.reject(new FleetError('PEER_UNREACHABLE', 'not asked in this test'));
    const joining = createJoining({
      profile: 'switch',
      config,
      policy,
      ledger,
      directory,
      peers,
      client: { card: unused, send: unused, fetch: client.fetch },
      clock,
      ids: systemIds,
      log: silentLog,
      maxWorkers,
    });
    const app = createApp({
      name: 'switch',
      version: '0',
      log: createLogger({ name: 'test', level: 'silent' }),
      metrics: createMetrics({ profile: 'switch', peers: [], callers: [], defaultMetrics: false }),
      authenticate: createAuthenticator(
        [
          { name: 'operator', scopes: ['operate', 'read', 'dispatch'], secret: OPERATOR },
          { name: 'reader', scopes: ['read', 'dispatch', 'announce', 'join'], secret: READER },
        ],
        joining.callerOf,
      ),
      readiness: () => ({ ready: true, dependencies: {} }),
    });
    registerJoinRoutes(app, joining);
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    close = async () => {
      await app.close();
      await ledger.close();
    };
    return { url, peers, ledger };
  }
  let running = await open();
  const ask = async (method: string, path: string, token: string, body?: unknown) => {
    const reply = await fetch(`${running.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    return { status: reply.status, body: (await reply.json()) as Body };
  };
  return {
    clock,
    ask,
    peers: () => running.peers,
    workers: async (): Promise<Body[]> => (await ask('GET', '/fleet/workers', OPERATOR)).body.workers,
    create: async (body: object = {}): Promise<{ id: string; token: string }> => {
      const made = await ask('POST', '/fleet/join-tokens', OPERATOR, body);
      if (made.status !== 200) throw new Error(JSON.stringify(made.body));
      return made.body;
    },
    async restart() {
      await close();
      running = await open();
    },
  };
}

/** Who listens at the address of a joining worker; `answer` replaces the right proof. Counts its requests. */
export async function listener(
  t: TestContext,
  answer: (challenge: JoinChallenge) => { status?: number; body: string; location?: string } | undefined = (
    challenge,
  ) => ({
    body: JSON.stringify({ proof: joinProof(TOKEN_TO_WORKER, challenge) }),
  }),
) {
  const seen: string[] = [];
  const server = createServer(async (request, reply) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
    const given = request.url === CHALLENGE_PATH ? answer(JSON.parse(text)) : { status: 404, body: '{}' };
    if (!given) return;
    if (given.location) reply.setHeader('location', given.location);
    reply.writeHead(given.status ?? 200).end(given.body);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  t.after(close);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { endpoint: `http://127.0.0.1:${address.port}`, seen, close };
}
