import type { PeerRegistry } from '@hermes-fleet/peers';

/** A relayed task's claim on capacity at one peer at a time. Routing counts it as load. */
export interface Reservation extends Disposable {
  /** Reserves capacity at this peer and releases it anywhere else. A repeated call changes nothing. */
  hold(peer: string): void;
  release(): void;
}

/** Calls `onRelease` after capacity was released, so that another task can be routed to it. */
export function createReservation(peers: Pick<PeerRegistry, 'health'>, onRelease: () => void): Reservation {
  let heldAt: string | undefined;
  let held: Disposable | undefined;
  const release = (): void => {
    if (heldAt === undefined) return;
    held?.[Symbol.dispose]();
    held = undefined;
    heldAt = undefined;
    onRelease();
  };
  return {
    hold(peer) {
      if (heldAt === peer) return;
      release();
      held = peers.health(peer)?.trackTask();
      heldAt = peer;
    },
    release,
    [Symbol.dispose]: release,
  };
}
