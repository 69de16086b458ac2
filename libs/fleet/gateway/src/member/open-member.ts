import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createA2AClient } from '@hermes-fleet/a2a';
import { SHARED_CALLER } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import {
  createAnnouncer,
  createPeerRegistry,
  createWorkerDirectory,
  recordAnnounceOf,
} from '@hermes-fleet/peers';
import { HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { type Log, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import {
  type createLogger,
  createMetrics,
  type OpenTracing,
  openTracing,
  readDisk,
  recordBuild,
} from '@hermes-fleet/service';
import { acquireOwnership } from '@hermes-fleet/store';
import { createGateway } from '../gateway.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import { connectAnnounces } from './bus.ts';
import { renewCertificates, timesOf, withBusTls } from './certificates.ts';
import type { MemberConfiguration } from './configuration.ts';
import { type MemberEnvironment, version } from './environment.ts';

type Logger = ReturnType<typeof createLogger>;

/** The opened base of a member: it owns its state directory and its ledger. `tracing` is undefined where traces are off. */
export type Member = NonNullable<ReturnType<typeof openMember>>;

/**
 * Takes ownership of the state directory and opens the ledger. `opened` closes both again if the start fails. Undefined
 * when `fleet.enabled` is false; `disabled` then says what the member does not do.
 */
export function openMember(
  environment: MemberEnvironment,
  { fleet: config, credentials: read, certificates, identity, notes, warnings }: MemberConfiguration,
  { log, tracing, disabled }: { log: Logger; tracing?: OpenTracing | undefined; disabled: string },
  opened: AsyncDisposableStack,
) {
  const { name: profile, stateDir } = environment;
  const { server, enabled, tiers } = config.fleet;
  if (!enabled || !server) {
    log.info({ profile }, `fleet.enabled is false: ${disabled}`);
    return undefined;
  }
  for (const note of notes) log.info({ profile }, note);
  for (const warning of warnings) log.warn({ profile }, warning);

  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const shared = { profile, clock: systemClock, ids: systemIds, log };
  const tls = renewCertificates(certificates, shared);
  const credentials = withBusTls(read, tls);
  const ownership = opened.use(acquireOwnership({ dir: stateDir, profile }));
  const file = join(stateDir, 'ledger.db');
  const ledger = opened.adopt(openLedger({ file, ...shared }), (open) => open.close());
  const metrics = createMetrics({
    profile,
    peers: Object.keys(credentials.peers),
    callers: server.auth_required ? credentials.callers.map(({ name }) => name) : [SHARED_CALLER.name],
    tiers,
  });
  readDisk(metrics, file);
  recordBuild(metrics, { version, revision: environment.revision });
  metrics.read({
    fleet_certificate_expiry_timestamp_seconds: () =>
      timesOf(tls).map(([use, { expiresAt }]) => [{ use }, expiresAt / 1000]),
    fleet_certificate_renew_by_timestamp_seconds: () =>
      timesOf(tls).map(([use, { renewBy }]) => [{ use }, renewBy / 1000]),
  });
  return {
    ...shared,
    version,
    config,
    server,
    credentials,
    tls,
    identity,
    metrics,
    tracing,
    ownership,
    ledger,
  };
}

export type MemberPeers = ReturnType<typeof createMemberPeers>;

/** The peers of a member; `directory` has the workers that joined with a join token. */
export function createMemberPeers(member: Member) {
  const { profile, credentials, ledger, metrics, clock, log } = member;
  const configured = credentials.peers;
  const directory = createWorkerDirectory(ledger.joins);
  const peers = createPeerRegistry({
    ledger,
    configured,
    join: { ...credentials.join, workers: directory },
    clock,
    log,
    self: profile,
  });
  metrics.read({
    fleet_peer_circuit_open: () =>
      peers
        .list()
        .filter(({ name }) => name in configured)
        .map(({ name: peer, circuitOpenUntil }) => [{ peer }, circuitOpenUntil > clock.now()]),
  });
  return {
    client: createA2AClient({ clock, log, extensions: [HANDSHAKE_EXTENSION], tls: member.tls.client }),
    peers,
    directory,
  };
}

/** The time that resumed tasks get to reach a checkpoint when the start fails after them. */
const FAILED_START_GRACE_MS = 2_000;

export type MemberGateway = ReturnType<typeof createMemberGateway>;

/** Connects the announces and creates the gateway. Closing the announcer says farewell to the peers first. */
export function createMemberGateway(
  member: Member,
  { client, peers, directory }: MemberPeers,
  work: Pick<GatewayOptions, 'agent' | 'mcp' | 'model' | 'defaultBudget' | 'countCache'>,
  opened: AsyncDisposableStack,
) {
  const announces = connectAnnounces({
    ...member,
    login: member.credentials.bus,
    onAnnounce: (announce, from) => recordAnnounceOf({ ...member, peers }, [announce], from),
  });
  opened.defer(async () => announces?.close());
  const announcer = createAnnouncer({
    ...member,
    self: () => gateway.freshAnnounce(),
    selfAsKnown: () => gateway.announce(),
    peers,
    client,
    bus: announces,
  });
  const gateway = createGateway({ ...member, ...work, peers, announcer, client });
  opened.defer(() => gateway.stop(FAILED_START_GRACE_MS));
  return {
    client,
    peers,
    directory,
    gateway,
    announcer: {
      start: announcer.start,
      async close(): Promise<void> {
        await announcer.farewell();
        await Promise.all([announcer.close(), announces?.close()]);
      },
    },
  };
}

/** Opens a member's traces (docs/traces.md); undefined where they are off. `opened` closes them if the start fails. */
export async function openMemberTracing(
  name: string,
  env: NodeJS.ProcessEnv,
  log: Log,
  opened: AsyncDisposableStack,
): Promise<OpenTracing | undefined> {
  const tracing = await openTracing(env, { name, version, log });
  opened.defer(async () => tracing?.close());
  return tracing;
}
