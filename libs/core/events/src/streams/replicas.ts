import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { NatsError, type StreamConfig } from 'nats';

/** The copies that a stream may have; an even number tolerates no more lost servers than the odd one below it. */
const SIZES = [5, 3, 1] as const;
/** A server of a cluster that was started a moment ago may not be known to the others yet. */
const FORMING_MS = 10_000;
const RETRY_MS = 250;

/** The number of copies that so many servers can have. */
const copiesOn = (servers: number): number => SIZES.find((size) => size <= servers) ?? 1;

const NO_SUITABLE_PEERS = 10005;
const NOT_CLUSTERED = 10074;

/** True when the cluster has too few servers with JetStream for the copies that were asked for. */
function lacksServers(error: unknown): boolean {
  const code = error instanceof NatsError ? error.api_error?.err_code : undefined;
  return code === NO_SUITABLE_PEERS || code === NOT_CLUSTERED;
}

export interface ReplicationOptions {
  /** The server that answers is part of a cluster. */
  readonly isClustered: boolean;
  /** The number of servers that the operator named: the cluster is known to have at least as many. */
  readonly named: number;
  /** The number of copies that the operator wants; otherwise as many as the cluster can have, 5 at most. */
  readonly wanted?: number | undefined;
  readonly clock: Clock;
  /** How long servers that are missing are waited for; `FORMING_MS` without it. */
  readonly formingMs?: number | undefined;
}

/** Creates or updates streams, each with as many copies as the cluster can have. */
export interface Replication {
  /**
   * Calls `apply` with numbers of copies, the highest first, until the server accepts one, and returns it with what `apply`
   * returned. Fewer copies than the stream has are never tried. For a new stream, waits for servers that are missing, and
   * throws PEER_UNREACHABLE (retryable) if named servers stay away: a stream with too few copies would lose events with
   * its server.
   */
  apply<T>(
    stream: string,
    existing: Pick<StreamConfig, 'num_replicas'> | undefined,
    apply: (copies: number) => Promise<T>,
  ): Promise<{ readonly copies: number; readonly result: T }>;
}

export function createReplication(options: ReplicationOptions): Replication {
  const { isClustered, named, wanted, clock } = options;
  const needed = wanted ?? copiesOn(named);
  const largest = wanted ?? (isClustered ? SIZES[0] : 1);
  const waitUntil = clock.now() + (options.formingMs ?? FORMING_MS);

  async function tryEach<T>(sizes: readonly number[], apply: (copies: number) => Promise<T>) {
    for (const copies of sizes)
      try {
        return { copies, result: await apply(copies) };
      } catch (error) {
        if (!lacksServers(error)) throw error;
      }
    return undefined;
  }

  return {
    async apply(stream, existing, apply) {
      const kept = existing?.num_replicas ?? 0;
      const raised = [...new Set([largest, ...SIZES])].filter((size) => size <= largest && size > kept);
      if (kept > 0) {
        const moved = isClustered ? await tryEach(raised, apply) : undefined;
        return moved ?? { copies: kept, result: await apply(kept) };
      }
      // Two servers cannot be told from three of which one is still to come: both are waited for.
      const patient = raised.filter((size) => size >= Math.max(needed, isClustered ? 3 : 1));
      for (;;) {
        const made = await tryEach(patient, apply);
        if (made) return made;
        if (clock.now() >= waitUntil) break;
        await clock.sleep(RETRY_MS);
      }
      const made = await tryEach(
        raised.filter((size) => size >= needed),
        apply,
      );
      if (made) return made;
      throw new FleetError(
        'PEER_UNREACHABLE',
        `the stream ${stream} needs ${needed} servers with JetStream, and the cluster has fewer now: start the others, or ask for fewer copies with --replicas`,
      );
    },
  };
}
