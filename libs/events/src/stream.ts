import { FleetError, type Log } from '@hermes-fleet/protocol';
import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import { type BusConnection, openConnection, reasonOf, serverAddress } from './connection.ts';

/** The one stream of a fleet (design 5, Events). */
export const STREAM = 'FLEET';
export const STREAM_SUBJECTS: readonly string[] = [
  'fleet.task.>',
  'fleet.announce.>',
  'fleet.control.>',
  'fleet.audit.>',
];
/** For how long the server recognises a message id: copies sent within it are dropped. */
export const DUPLICATE_WINDOW_MS = 2 * 60 * 60 * 1000;

const DEFAULT_MAX_BYTES = 1024 ** 3;
const DEFAULT_MAX_AGE_S = 30 * 24 * 60 * 60;
const SET_UP_TIMEOUT_MS = 30_000;
const STREAM_NOT_FOUND = 10059;

export interface StreamSetup {
  readonly outcome: 'created' | 'updated' | 'unchanged';
  readonly serverVersion: string;
  /** Whether this server can be told to fsync every event (`sync_interval`, nats-server 2.10). */
  readonly knowsSyncInterval: boolean;
  /** What an operator should know, one sentence each. */
  readonly notes: readonly string[];
}

/** Whether a nats-server of this version (`2.10.27`, `v2.9.10`) knows `sync_interval`; older ones refuse to start with it. */
export function supportsSyncInterval(version: string): boolean {
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
}

const errorNumber = (error: unknown): number | undefined =>
  error instanceof NatsError ? error.api_error?.err_code : undefined;

async function existingConfig(jsm: JetStreamManager): Promise<StreamConfig | undefined> {
  try {
    return (await jsm.streams.info(STREAM)).config;
  } catch (error) {
    if (errorNumber(error) === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

/** What an update cannot change, and what would break the promises of the relay. */
function incompatibilities(existing: StreamConfig): string[] {
  return [
    ...(existing.storage === StorageType.File ? [] : [`it is stored in ${existing.storage}, not in files`]),
    ...(existing.retention === RetentionPolicy.Limits
      ? []
      : [`its retention is ${existing.retention}, not limits`]),
    ...(existing.mirror ? [`it mirrors ${existing.mirror.name}`] : []),
    ...(existing.sealed ? ['it is sealed'] : []),
    ...(existing.no_ack ? ['it acknowledges nothing (no_ack)'] : []),
  ];
}

const sameSetting = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

async function bringAbout(
  jsm: JetStreamManager,
  wanted: Partial<StreamConfig>,
): Promise<StreamSetup['outcome']> {
  const existing = await existingConfig(jsm);
  if (existing === undefined) {
    await jsm.streams.add({
      name: STREAM,
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      ...wanted,
    });
    return 'created';
  }
  const reasons = incompatibilities(existing);
  if (reasons.length > 0) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the JetStream stream ${STREAM} exists and cannot hold the fleet's events: ${reasons.join('; ')}. Move or delete it, then set up again`,
    );
  }
  const changed = { ...existing, ...wanted };
  if (sameSetting(existing, changed)) return 'unchanged';
  await jsm.streams.update(STREAM, changed);
  return 'updated';
}

/**
 * Creates the fleet's stream, or brings an existing one up to these limits; what an operator added to it (replicas,
 * placement) stays. Safe to run again and by several at once. `maxBytes` defaults to 1 GiB, `maxAgeS` (seconds, at
 * least the duplicate window) to 30 days; beyond either the oldest events go. Throws CONFIG_INVALID when the stream
 * cannot be had as it must be, PEER_UNREACHABLE (retryable) when the server does not answer (design 5, Events).
 */
export async function setUpStreams(o: {
  connection: BusConnection;
  log: Log;
  maxBytes?: number;
  maxAgeS?: number;
}): Promise<StreamSetup> {
  const maxAgeMs = (o.maxAgeS ?? DEFAULT_MAX_AGE_S) * 1000;
  if (maxAgeMs < DUPLICATE_WINDOW_MS) {
    throw new FleetError(
      'CONFIG_INVALID',
      `events must be kept for at least ${DUPLICATE_WINDOW_MS / 1000} s, not ${o.maxAgeS} s: raise the stream's maximum age`,
    );
  }
  const where = o.connection.servers.map((server) => {
    const { host, port } = serverAddress(server);
    return `${host}:${port}`;
  });
  const deadline = AbortSignal.timeout(SET_UP_TIMEOUT_MS);
  const nc = await openConnection(o.connection, deadline).catch((error: unknown) => {
    throw new FleetError('PEER_UNREACHABLE', `cannot set up the event bus: ${reasonOf(error)}`, {
      cause: error,
    });
  });
  try {
    const jsm = await nc.jetstreamManager({ checkAPI: false });
    const outcome = await bringAbout(jsm, {
      subjects: [...STREAM_SUBJECTS],
      max_bytes: o.maxBytes ?? DEFAULT_MAX_BYTES,
      max_age: nanos(maxAgeMs),
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      discard: DiscardPolicy.Old,
      allow_direct: true,
    });
    const serverVersion = nc.info?.version ?? 'unknown';
    const knowsSyncInterval = supportsSyncInterval(serverVersion);
    const notes = knowsSyncInterval
      ? []
      : [
          `nats-server ${serverVersion} does not know sync_interval: events survive a crash of the process, not of the machine; use 2.10 or newer for both`,
        ];
    for (const note of notes) o.log.warn({ server_version: serverVersion }, note);
    o.log.info({ stream: STREAM, outcome, server_version: serverVersion }, 'event stream is set up');
    return { outcome, serverVersion, knowsSyncInterval, notes };
  } catch (error) {
    throw setUpError(error, where.join(', '));
  } finally {
    await nc.close();
  }
}

function setUpError(error: unknown, where: string): FleetError {
  if (error instanceof FleetError) return error;
  const code = error instanceof NatsError ? error.code : undefined;
  if (code === '503') {
    return new FleetError('CONFIG_INVALID', `the NATS server at ${where} runs without JetStream: enable it`, {
      cause: error,
    });
  }
  if (errorNumber(error) !== undefined || code === 'PERMISSIONS_VIOLATION') {
    return new FleetError(
      'CONFIG_INVALID',
      `NATS refuses the stream ${STREAM} at ${where}: ${reasonOf(error)}`,
      {
        cause: error,
      },
    );
  }
  return new FleetError(
    'PEER_UNREACHABLE',
    `setting up the event bus at ${where} failed: ${reasonOf(error)}`,
    {
      cause: error,
    },
  );
}
