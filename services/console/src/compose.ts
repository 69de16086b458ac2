import { join } from 'node:path';
import type { BusConnection } from '@hermes-fleet/events';
import type { TlsSource } from '@hermes-fleet/net/tls';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, systemIds as ids } from '@hermes-fleet/protocol/ports';
import {
  createApp,
  type createLogger,
  createRecorder,
  createRegistry,
  type Readiness,
  recordBuild,
} from '@hermes-fleet/service';
import { acquireOwnership, openStore, type Store } from '@hermes-fleet/store';
import manifest from '../package.json' with { type: 'json' };
import type { ConsoleConfig } from './config/schema.ts';
import { createPrices } from './config/token-prices.ts';
import { type Feed, startFeed } from './consume/feed.ts';
import type { BusView } from './consume/readers.ts';
import { CONSOLE_NAME } from './environment.ts';
import { createChanges } from './http/changes.ts';
import type { ApiOptions } from './http/options.ts';
import { registerApi } from './http/register-api.ts';
import { type StatusDocument, statusDocument } from './http/status.ts';
import { CONSOLE_FAMILIES, type ConsoleReaders } from './metric-families.ts';
import { createProfileClient } from './profiles/client.ts';
import { READ_MODEL } from './read-model/schema.ts';
import { startRetention } from './retention/prune.ts';
import { createCodes } from './session/codes.ts';
import { createSessions } from './session/sessions.ts';

/** The pages that stay in memory, in KiB: the system keeps the others of a file that is read often. */
const CACHE_KIB = 1_024;

/** The maximum request body. */
const BODY_LIMIT_BYTES = 262_144;

export interface ConsoleOptions {
  readonly config: ConsoleConfig;
  readonly stateDir: string;
  /** The revision of the sources, if it is known. */
  readonly revision?: string | undefined;
  readonly connection: BusConnection;
  /** The certificates of the calls to members. */
  readonly tls?: TlsSource | undefined;
  /** The secret that makes one-time codes. */
  readonly loginSecret: string;
  readonly clock: Clock;
  readonly log: ReturnType<typeof createLogger>;
  /** The files of the page, and their Content-Security-Policy. */
  readonly web: ApiOptions['web'];
}

/** A console without its listener. */
export interface Console {
  readonly app: ReturnType<typeof createApp>;
  /** Closes in order: listener, readers, what was read, read model, ownership. `begin` is the moment it leaves rotation. */
  readonly steps: readonly { readonly name: string; readonly run: () => Promise<void> }[];
}

/** Opens the read model, starts the readers of the bus, and registers the API. `opened` closes it again if the start fails. */
export function createConsole(options: ConsoleOptions, opened: AsyncDisposableStack): Console {
  const { config, stateDir, connection, loginSecret, clock, log, web } = options;
  const ownership = opened.use(acquireOwnership({ dir: stateDir, profile: CONSOLE_NAME }));
  const file = join(stateDir, 'console.db');
  const store = opened.adopt(
    openStore({ file, schema: READ_MODEL, profile: CONSOLE_NAME, cacheKib: CACHE_KIB, clock, ids, log }),
    (open) => open.close(),
  );
  const codes = createCodes(clock);
  const sessions = createSessions(store, clock);
  let feed: Feed | undefined;
  const bus = (): BusView =>
    feed?.view() ?? { connected: false, isAway: true, reason: 'not connected yet', behind: undefined };
  const metrics = createRecorder(createRegistry(), CONSOLE_FAMILIES, {});
  const readers: ConsoleReaders = {
    fleet_console_bus_connected: () => bus().connected,
    fleet_console_events_behind: () => bus().behind ?? 0,
    fleet_console_sessions: () => sessions.count,
  };
  metrics.read(readers);
  recordBuild(metrics, { version: manifest.version, revision: options.revision });
  let stopping = false;
  const app = createApp({
    name: CONSOLE_NAME,
    version: manifest.version,
    log,
    metrics,
    hosts: config.allowed_hosts,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    readiness: () => readinessOf(store, bus(), stopping),
  });
  opened.defer(async () => void (await app.close()));
  const status = (): StatusDocument => statusDocument(store, bus(), config.stale_after_s);
  const changes = createChanges(clock, status);
  opened.defer(() => changes.close());
  const { grafana_url, trace_url } = config;
  const { [config.entry]: first, ...others } = config.profiles;
  if (first === undefined) throw new FleetError('CONFIG_INVALID', 'console.entry names no profile');
  const entry = { name: config.entry, ...first };
  const rest = Object.entries(others).map(([name, { url }]) => ({ name, url }));
  const addresses = new Map([entry, ...rest].map((address) => [address.name, address]));
  registerApi(app, {
    store,
    sessions,
    codes,
    loginSecret,
    changes,
    status,
    clock,
    web,
    client: createProfileClient(clock, options.tls),
    entry,
    addresses,
    log,
    trader: config.trader,
    prices: createPrices(config.prices),
    rebuild: () => reading.rebuild(),
    version: manifest.version,
    links: { grafana_url, trace_url },
  });

  feed = startFeed({
    connection,
    store,
    clock,
    log,
    onApplied: (applied, arrivals, skipped) => {
      changes.applied(applied);
      for (const [topic, group] of Map.groupBy(arrivals, (arrival) => arrival.topic))
        metrics.add('fleet_console_events_total', { topic }, group.length);
      metrics.add('fleet_console_events_skipped_total', {}, skipped);
    },
    onState: changes.statusChanged,
    onRebuilt: changes.everything,
  });
  const reading = feed;
  opened.defer(() => reading.close());
  const retention = startRetention({ store, limits: config.retention, clock, log });
  opened.defer(() => retention.close());

  const stopServing = async (): Promise<void> => {
    stopping = true;
    changes.close();
    await app.close();
  };
  const closeStore = async (): Promise<void> => {
    await retention.close();
    store.close();
    ownership[Symbol.dispose]();
  };
  return {
    app,
    steps: [
      { name: 'close the listener', run: stopServing },
      { name: 'stop reading the bus', run: () => reading.close() },
      { name: 'close the read model', run: closeStore },
    ],
  };
}

function readinessOf(
  store: Pick<Store, 'problem'>,
  { connected, reason }: BusView,
  stopping: boolean,
): Readiness {
  const problem = store.problem();
  return {
    ready: !stopping && problem === undefined,
    dependencies: {
      read_model: problem === undefined ? { state: 'ok' } : { state: 'down', detail: problem },
      nats: connected ? { state: 'ok' } : { state: 'degraded', detail: reason ?? 'not connected' },
      ...(stopping ? { console: { state: 'down' as const, detail: 'stopping' } } : {}),
    },
  };
}
