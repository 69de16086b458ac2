import type { PeerTask } from '@hermes-fleet/a2a';
import type { PeerRegistry, TaskAtPeer } from '@hermes-fleet/peers';
import type { Ticket } from '@hermes-fleet/tasks';

export type Placement = ReturnType<typeof createPlacement>;

/**
 * Where a relayed task is: its ticket, and its slot at one peer at a time. Routing counts the slot as load. `onChange` is
 * called when the task's state at its peer has changed, which may leave a slot there free.
 */
export function createPlacement(peers: Pick<PeerRegistry, 'health'>, ticket: Ticket, onChange: () => void) {
  let held: TaskAtPeer | undefined;
  let state: string | undefined;
  /** Reserves a slot at the peer. The caller hands it to the ticket. */
  const reserve = (peer: string): Disposable => {
    const reserved = peers.health(peer)?.trackTask();
    held = reserved;
    state = undefined;
    return {
      [Symbol.dispose]() {
        reserved?.[Symbol.dispose]();
        if (held === reserved) held = undefined;
      },
    };
  };
  return {
    ticket,
    reserve,
    /** The task is at this peer: since a former process, or again after a question. */
    holdSlot(peer: string): void {
      if (ticket.state === 'submitted') ticket.restore(reserve(peer));
      if (ticket.state === 'asking') ticket.resume(reserve(peer));
    },
    /** The peer has the task, in this state. */
    observe(task: Pick<PeerTask, 'state' | 'statusAt'>): void {
      held?.observe(task.state, task.statusAt);
      if (task.state !== 'rejected') ticket.run();
      if (task.state === state) return;
      state = task.state;
      onChange();
    },
    /** The task waits for its caller: it is no load on the peer. */
    ask(): void {
      ticket.run();
      if (ticket.state === 'running') ticket.ask();
    },
    /** The task has left the peer, and may go to another one. `wasTaken`: the peer has judged it. */
    leave(wasTaken: boolean): void {
      if (ticket.state === 'placed' || ticket.state === 'running') ticket.retry(!wasTaken);
    },
  };
}
