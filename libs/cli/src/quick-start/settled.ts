import type { Clock } from '@hermes-fleet/protocol/ports';
import { fleetApi, serviceAt } from '../client/api.ts';

const INTERVAL_MS = 200;
const REQUEST_MS = 2_000;
const LAST_ANNOUNCE = /^fleet_peer_last_announce_timestamp_seconds\{peer="([^"]+)"\} (\S+)$/gm;

/**
 * Waits until the profile at a base URL has an announce of every configured peer; before that, it blocks tasks that such a peer could
 * take. Resolves with the peers that are still silent after `deadlineMs`.
 */
export async function waitUntilSettled(
  url: string,
  deadlineMs: number,
  clock: Clock,
): Promise<readonly string[]> {
  const giveUpAt = clock.now() + deadlineMs;
  for (;;) {
    const silent = silentPeers(await readMetrics(url));
    if (silent?.length === 0) return [];
    if (clock.now() >= giveUpAt) return silent ?? ['every peer'];
    await clock.sleep(INTERVAL_MS);
  }
}

/** The peers without an announce in a profile's metrics; undefined when the metrics name no peer. */
export function silentPeers(text: string): readonly string[] | undefined {
  const peers = [...text.matchAll(LAST_ANNOUNCE)];
  if (peers.length === 0) return undefined;
  return peers.flatMap(([, peer = '', at]) => (Number(at) > 0 ? [] : [peer]));
}

async function readMetrics(url: string): Promise<string> {
  try {
    return (await fleetApi().text(serviceAt(url, undefined), '/metrics', { timeoutMs: REQUEST_MS })).text;
  } catch {
    // The profile may still be starting: the caller retries until its deadline.
    return '';
  }
}
