import { FleetError } from '@hermes-fleet/protocol';
import { type Log, systemClock } from '@hermes-fleet/protocol/ports';
import { type JetStreamManager, NatsError, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import { type BusConnection, openConnection, reasonOf, serverAddress } from '../connection/connection.ts';
import { createReplication, type Replication } from './replicas.ts';
import { WANTED_STREAMS, type WantedStream } from './stream-config.ts';
import { STREAM } from './subjects.ts';

const SET_UP_TIMEOUT_MS = 30_000;
/** The cluster has no leader: it forms, or most of its servers are away. */
const NO_LEADER = 10008;
const STREAM_NOT_FOUND = 10059;

export type StreamOutcome = 'created' | 'updated' | 'unchanged';

export interface StreamSetup {
  /** By the name of the stream. */
  readonly outcomes: Readonly<Record<string, StreamOutcome>>;
  /** The number of copies of `FLEET`, each on another server. */
  readonly replicas: number;
  readonly serverVersion: string;
  /** Notes for the operator, one sentence each. */
  readonly notes: readonly string[];
}

/** True when a nats-server of this version (`2.10.27`, `v2.9.10`) supports `sync_interval`; others refuse to start with it. */
export function supportsSyncInterval(version: string): boolean {
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
}

const errorNumber = (error: unknown): number | undefined =>
  error instanceof NatsError ? error.api_error?.err_code : undefined;

/** Settings that an update cannot change or that would break at-least-once publishing. */
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

/** Reads an existing stream; undefined when there is none. Throws CONFIG_INVALID when it cannot be adapted. */
async function readUsable(jsm: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  const existing = await jsm.streams.info(name).then(
    ({ config }) => config,
    (error: unknown) => {
      if (errorNumber(error) !== STREAM_NOT_FOUND) throw error;
      return undefined;
    },
  );
  const reasons = existing ? incompatibilities(existing) : [];
  if (reasons.length === 0) return existing;
  throw new FleetError(
    'CONFIG_INVALID',
    `the JetStream stream ${name} exists and cannot hold the fleet's events: ${reasons.join('; ')}. Move or delete it, then set up again`,
  );
}

async function applyConfig(
  jsm: JetStreamManager,
  replication: Replication,
  existing: StreamConfig | undefined,
  wanted: WantedStream,
): Promise<{ outcome: StreamOutcome; copies: number }> {
  const { copies, result } = await replication.apply<StreamOutcome>(
    wanted.name,
    existing,
    async (num_replicas) => {
      const config = { ...wanted, num_replicas };
      if (existing === undefined) {
        const fixed = { storage: StorageType.File, retention: RetentionPolicy.Limits };
        await jsm.streams.add({ ...fixed, ...config });
        return 'created';
      }
      const changed = { ...existing, ...config };
      if (sameSetting(existing, changed)) return 'unchanged';
      await jsm.streams.update(wanted.name, changed);
      return 'updated';
    },
  );
  return { outcome: result, copies };
}

/**
 * Creates the fleet's streams or updates existing ones (docs/events.md#the-streams), each with as many copies as the cluster
 * can have, 5 at most; settings that an operator added (placement, more copies) are kept. All streams are checked before any is changed.
 * Idempotent, and safe to run concurrently. Throws CONFIG_INVALID when a stream cannot be set up as required, and
 * PEER_UNREACHABLE (retryable) when the server does not answer.
 */
export async function setUpStreams(options: {
  connection: BusConnection;
  log: Log;
  /** The number of copies; otherwise as many as the cluster can have. */
  replicas?: number | undefined;
  /** How long a new stream waits for servers of the cluster that are missing. */
  formingMs?: number;
}): Promise<StreamSetup> {
  const where = options.connection.servers.map((server) => {
    const { host, port } = serverAddress(server);
    return `${host}:${port}`;
  });
  const deadline = AbortSignal.timeout(SET_UP_TIMEOUT_MS);
  await using nc = await openConnection(options.connection, deadline).catch((error: unknown) => {
    throw new FleetError('PEER_UNREACHABLE', `cannot set up the event bus: ${reasonOf(error)}`, {
      cause: error,
    });
  });
  const forStream = <T>({ name }: Pick<WantedStream, 'name'>, answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      throw setUpError(error, name, where.join(', '));
    });
  const jsm = await forStream({ name: STREAM }, nc.jetstreamManager({ checkAPI: false }));
  const had: (StreamConfig | undefined)[] = [];
  for (const wanted of WANTED_STREAMS) had.push(await forStream(wanted, readUsable(jsm, wanted.name)));
  const isClustered = nc.info !== undefined && 'cluster' in nc.info;
  const replication = createReplication({
    isClustered,
    named: options.connection.servers.length,
    wanted: options.replicas,
    clock: systemClock,
    formingMs: options.formingMs,
  });
  const outcomes: Record<string, StreamOutcome> = {};
  let replicas = 0;
  for (const [at, wanted] of WANTED_STREAMS.entries()) {
    const applied = await forStream(wanted, applyConfig(jsm, replication, had[at], wanted));
    outcomes[wanted.name] = applied.outcome;
    if (wanted.name === STREAM) replicas = applied.copies;
  }
  const serverVersion = nc.info?.version ?? 'unknown';
  const notes = [
    ...(supportsSyncInterval(serverVersion)
      ? []
      : [
          `nats-server ${serverVersion} does not know sync_interval: events survive a crash of the process, not of the machine; use 2.10 or newer for both`,
        ]),
    ...(isClustered && replicas < 3
      ? [
          'the streams have one copy, on one server of the cluster: with three servers or more, fleet nats setup gives them three',
        ]
      : []),
  ];
  for (const note of notes) options.log.warn({ server_version: serverVersion }, note);
  options.log.info({ outcomes, replicas, server_version: serverVersion }, 'event streams are set up');
  return { outcomes, replicas, serverVersion, notes };
}

function setUpError(error: unknown, stream: string, where: string): FleetError {
  if (error instanceof FleetError) return error;
  const cause = { cause: error };
  const code = error instanceof NatsError ? error.code : undefined;
  if (code === '503' && errorNumber(error) !== NO_LEADER)
    return new FleetError(
      'CONFIG_INVALID',
      `the NATS server at ${where} runs without JetStream: enable it`,
      cause,
    );
  const refusal = `NATS refuses the stream ${stream} at ${where}: ${reasonOf(error)}`;
  if (code === 'PERMISSIONS_VIOLATION')
    return new FleetError(
      'CONFIG_INVALID',
      `${refusal}. Set up as the set-up user; if it is, write the keys again and restart NATS, which may know the permissions of an older version`,
      cause,
    );
  const isTemporary = error instanceof NatsError && error.api_error?.code === 503;
  if (errorNumber(error) !== undefined && !isTemporary)
    return new FleetError('CONFIG_INVALID', refusal, cause);
  return new FleetError(
    'PEER_UNREACHABLE',
    `setting up the event bus at ${where} failed: ${reasonOf(error)}`,
    cause,
  );
}
