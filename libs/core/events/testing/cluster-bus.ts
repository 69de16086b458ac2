import assert from 'node:assert/strict';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { consume } from '../src/consume/consume.ts';
import { type StreamSetup, setUpStreams } from '../src/streams/set-up-streams.ts';
import { STREAM } from '../src/streams/subjects.ts';
import type { NatsCluster } from './nats-cluster.ts';

const POLL_MS = 100;
/** More than elections, with their timeouts, take on a machine under load. */
const GIVE_UP_MS = 60_000;
const READ_MS = 10_000;

/** Calls `check` until it resolves with a value; an attempt that throws counts as none. */
export async function until<T>(
  what: string,
  check: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const giveUpAt = systemClock.now() + GIVE_UP_MS;
  let last: unknown;
  for (;;) {
    try {
      const found = await check();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    assert.ok(systemClock.now() < giveUpAt, `${what} did not happen: ${String(last)}`);
    await systemClock.sleep(POLL_MS);
  }
}

/** Sets the streams up as `fleet nats setup` does: again while the cluster has no leader. */
export const setUpCluster = (
  servers: readonly string[],
  options: Partial<Parameters<typeof setUpStreams>[0]> = {},
): Promise<StreamSetup> =>
  until('the set-up of the streams', async () => {
    try {
      return await setUpStreams({ connection: { servers, name: 'set-up' }, log: silentLog, ...options });
    } catch (error) {
      if (error instanceof FleetError && error.retryable) return undefined;
      throw error;
    }
  });

/** The servers with a copy of FLEET: its leader, and the followers that are up to date. */
export async function placesOf(url: string): Promise<{ leader: string; current: string[] }> {
  const nc = await connect({ servers: url, reconnect: false, timeout: 2_000 });
  try {
    const jsm = await nc.jetstreamManager({ checkAPI: false, timeout: 2_000 });
    const { cluster } = await jsm.streams.info(STREAM);
    assert.ok(cluster?.leader, 'FLEET has no leader');
    const current = (cluster.replicas ?? []).filter((each) => each.current && each.offline !== true);
    return { leader: cluster.leader, current: current.map(({ name }) => name) };
  } finally {
    await nc.close();
  }
}

/** Resolves with the leader and the followers when all three copies are up to date. */
export const wholeCluster = (
  cluster: NatsCluster,
): Promise<{ leader: string; followers: readonly [string, string] }> =>
  until('three copies that are up to date', async () => {
    const { leader, current } = await placesOf(cluster.urls[0] ?? '');
    const [first, second] = current;
    return first && second ? { leader, followers: [first, second] as const } : undefined;
  });

/** The ids that a server of a cluster delivers, oldest first; tries again while the cluster has no leader. */
export const idsAt = (url: string, filter: string): Promise<string[]> =>
  until(`an answer of ${url}`, async () => {
    const ids: string[] = [];
    const signal = AbortSignal.timeout(READ_MS);
    await consume({
      connection: { servers: [url], name: 'test/reader' },
      filter,
      signal,
      fromStart: true,
      untilEnd: true,
      log: silentLog,
      clock: systemClock,
      onEvent: ({ id }) => void ids.push(id),
    });
    signal.throwIfAborted();
    return ids;
  });
