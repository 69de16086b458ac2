import type { TestContext } from 'node:test';
import { type Client, connectMcp } from '@hermes-fleet/mcp/testing';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { createApp, createAuthenticator, createLogger, createMetrics } from '@hermes-fleet/service';
import { registerFleetMcp } from '../src/mcp/fleet-mcp.ts';
import { relayFleet } from './relay-fleet.ts';
import type { Script } from './scripts.ts';
import type { TestProfile } from './test-profile.ts';

const SCOPES: Readonly<Record<string, readonly string[]>> = {
  operator: ['announce', 'dispatch', 'read'],
  other: ['announce', 'dispatch', 'read'],
  reader: ['read'],
  sender: ['dispatch'],
};

export const tokenOf = (caller: string): string => `token-of-${caller}-0123456789`;

/** POST /mcp of a profile on a port of its own. */
export interface McpProfile {
  readonly one: TestProfile;
  readonly url: string;
  readonly log: ReturnType<typeof recordingLog>;
  /** The official client, connected as this caller; `seeing` makes its HTTP requests. */
  connect(as?: string, seeing?: typeof fetch): Promise<Client>;
  post(body: unknown, headers?: Record<string, string>, as?: string, signal?: AbortSignal): Promise<Response>;
  /** Closes the listener, as a shutdown does. */
  close(): Promise<void>;
}

export async function serveMcp(
  t: TestContext,
  one: TestProfile,
  o: {
    readonly maxCallsPerCaller?: number;
    readonly publicUrl?: string;
    /** Is called when the profile has noticed that a client disconnected before its answer was complete. */
    readonly onGone?: () => void;
  } = {},
): Promise<McpProfile> {
  const log = recordingLog();
  const app = createApp({
    name: one.name,
    version: '0',
    log: createLogger({ name: 'test', level: 'silent' }),
    metrics: createMetrics({ profile: one.name, peers: [], callers: [], defaultMetrics: false }),
    authenticate: createAuthenticator(
      Object.entries(SCOPES).map(([name, scopes]) => ({ name, scopes, secret: tokenOf(name) })),
    ),
    readiness: () => ({ ready: true, dependencies: {} }),
  });
  app.addHook('onRequest', async (_request, { raw }) => {
    raw.once('close', () => {
      if (!raw.writableFinished) setImmediate(() => o.onGone?.());
    });
  });
  registerFleetMcp(app, {
    profile: one.name,
    version: '1.2.3',
    gateway: one.gateway,
    peers: one.peers,
    ledger: one.ledger,
    clock: systemClock,
    ids: systemIds,
    log,
    countCache: false,
    publicUrl: o.publicUrl,
    maxCallsPerCaller: o.maxCallsPerCaller ?? 16,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  const post: McpProfile['post'] = (body, headers = {}, as = 'operator', signal) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokenOf(as)}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: signal ?? AbortSignal.timeout(20_000),
    });
  return {
    one,
    url,
    log,
    post,
    close: () => app.close(),
    connect: (as = 'operator', seeing) =>
      connectMcp(t, url, { token: tokenOf(as), ...(seeing && { fetch: seeing }) }),
  };
}

/** The orchestrator `switch` with the worker `neo`, which runs this script, and POST /mcp of the orchestrator. */
export async function mcpFleet(
  t: TestContext,
  script: Script,
  o: { readonly maxCallsPerCaller?: number; readonly publicUrl?: string } = {},
): Promise<McpProfile & { readonly neo: TestProfile }> {
  const fleet = await relayFleet(t, { neo: { script, tier: 'sonnet' } });
  return { ...(await serveMcp(t, fleet.orchestrator, o)), neo: fleet.worker('neo') };
}
