import type { PeerTask } from '@hermes-fleet/a2a';
import type { PeerRegistry, TaskAtPeer } from '@hermes-fleet/peers';
import type { Ticket } from '@hermes-fleet/tasks';

/** Where a relayed task is: its ticket, and its slot at one peer at a time. Routing counts the slot as load. */
export interface Placement {
  readonly ticket: Ticket;
  /** Reserves a slot at the peer. The caller hands it to the ticket. */
  reserve(peer: string): Disposable;
  /** The task is at this peer: since a former process, or again after a question. */
  hold(peer: string): void;
  /** The peer has the task, in this state. */
  observe(task: Pick<PeerTask, 'state' | 'statusAt'>): void;
  /** The task waits for its caller: it is no load on the peer. */
  ask(): void;
  /** The task has left the peer, and may go to another one. `wasTaken`: the peer has judged it. */
  leave(wasTaken: boolean): void;
}

/** `onChange` is called when the task's state at its peer has changed, which may leave a slot there free. */
export function createPlacement(
  peers: Pick<PeerRegistry, 'health'>,
  ticket: Ticket,
  onChange: () => void,
): Placement {
  let held: TaskAtPeer | undefined;
  let state: string | undefined;
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
    hold(peer) {
      if (ticket.state === 'submitted') ticket.restore(reserve(peer));
      if (ticket.state === 'asking') ticket.resume(reserve(peer));
    },
    observe(task) {
      held?.observe(task.state, task.statusAt);
      if (task.state !== 'rejected') ticket.run();
      if (task.state === state) return;
      state = task.state;
      onChange();
    },
    ask() {
      ticket.run();
      if (ticket.state === 'running') ticket.ask();
    },
    leave(wasTaken) {
      if (ticket.state === 'placed' || ticket.state === 'running') ticket.retry(!wasTaken);
    },
  };
}
