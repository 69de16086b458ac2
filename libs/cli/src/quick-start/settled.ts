import type { Clock } from '@hermes-fleet/protocol';

const INTERVAL_MS = 200;
const REQUEST_MS = 2_000;
const LAST_ANNOUNCE = /^fleet_peer_last_announce_timestamp_seconds\{peer="([^"]+)"\} (\S+)$/gm;

/**
 * Waits until a profile has heard from every peer that it is configured with: before that it would call work blocked
 * which a peer is about to offer. Resolves with the peers that are still silent after `deadlineMs`.
 */
export async function waitUntilSettled(o: {
  /** The profile's address, without a path. */
  readonly url: string;
  readonly deadlineMs: number;
  readonly clock: Clock;
}): Promise<readonly string[]> {
  const giveUpAt = o.clock.now() + o.deadlineMs;
  for (;;) {
    const silent = silentPeers(await metrics(o.url));
    if (silent?.length === 0) return [];
    if (o.clock.now() >= giveUpAt) return silent ?? ['every peer'];
    await o.clock.sleep(INTERVAL_MS);
  }
}

/** The peers without an announce in a profile's metrics; undefined when the metrics tell of no peer. */
export function silentPeers(text: string): readonly string[] | undefined {
  const peers = [...text.matchAll(LAST_ANNOUNCE)];
  if (peers.length === 0) return undefined;
  return peers.flatMap(([, peer = '', at]) => (Number(at) > 0 ? [] : [peer]));
}

async function metrics(url: string): Promise<string> {
  try {
    const reply = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(REQUEST_MS) });
    return await reply.text();
  } catch {
    // Not up yet, or away for a moment: asked again until the deadline.
    return '';
  }
}
