import { isPeerName } from '@hermes-fleet/fleet-config';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { isLive, takesTasks } from '@hermes-fleet/peers';

const MAX_NAMED = 20;

/**
 * One line about the peers, for a prompt: names and tiers alone, since everything else is a peer's own words. Empty when
 * there is nobody.
 */
export function peersSummary(
  peers: Pick<PeerRegistry, 'list'>,
  tiers: readonly string[],
  now: number,
): string {
  const known = peers.list().filter(({ name, endpoint }) => endpoint !== undefined && isPeerName(name));
  const live: string[] = [];
  const away: string[] = [];
  for (const peer of known) {
    const { name, announce } = peer;
    if (!announce || !isLive(peer, now)) away.push(name);
    else if (takesTasks(announce))
      live.push(tiers.includes(announce.worker.modelTier) ? `${name} (${announce.worker.modelTier})` : name);
  }
  return [named(live), away.length > 0 ? `not heard of: ${named(away)}` : ''].filter(Boolean).join('; ');
}

function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return `${names.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
