import type { PeerRegistry } from '@hermes-fleet/peers';

/** The place that a relayed task takes at a peer, seen by routing as load; at most one at a time. */
export interface Seat extends Disposable {
  /** Takes a place at this peer, and leaves any other; staying costs nothing. */
  take(peer: string): void;
  leave(): void;
}

/** `onLeave` is called after a place was left: somebody else may take it. */
export function newSeat(peers: Pick<PeerRegistry, 'health'>, onLeave: () => void): Seat {
  let at: string | undefined;
  let held: Disposable | undefined;
  const leave = (): void => {
    if (at === undefined) return;
    held?.[Symbol.dispose]();
    held = undefined;
    at = undefined;
    onLeave();
  };
  return {
    take(peer) {
      if (at === peer) return;
      leave();
      held = peers.health(peer)?.trackTask();
      at = peer;
    },
    leave,
    [Symbol.dispose]: leave,
  };
}
