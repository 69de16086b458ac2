import type { PeerTask } from '@hermes-fleet/a2a';
import type { PeerRegistry, TaskAtPeer } from '@hermes-fleet/peers';

/** A relayed task's slot at one peer at a time. Routing counts it as load. */
export interface Reservation extends Disposable {
  /** Reserves a slot at this peer and releases any other. A repeated call changes nothing. */
  hold(peer: string): void;
  /** The peer has the task, in this state. */
  observe(task: Pick<PeerTask, 'state' | 'statusAt'>): void;
  release(): void;
}

/** Calls `onChange` when a slot may have become free, so that another task can be routed to it. */
export function createReservation(peers: Pick<PeerRegistry, 'health'>, onChange: () => void): Reservation {
  let heldAt: string | undefined;
  let held: TaskAtPeer | undefined;
  let state: string | undefined;
  const release = (): void => {
    if (heldAt === undefined) return;
    held?.[Symbol.dispose]();
    held = undefined;
    heldAt = undefined;
    state = undefined;
    onChange();
  };
  return {
    hold(peer) {
      if (heldAt === peer) return;
      release();
      held = peers.health(peer)?.trackTask();
      heldAt = peer;
    },
    observe(task) {
      held?.observe(task.state, task.statusAt);
      if (task.state === state) return;
      state = task.state;
      onChange();
    },
    release,
    [Symbol.dispose]: release,
  };
}
