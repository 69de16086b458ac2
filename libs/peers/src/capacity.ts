import { isLive, type PeerProfile, type PeerSlots } from './peer-profile.ts';

/** The limit of a peer that neither announces nor is configured with one, and the part of any limit that is trusted at once. */
const DEFAULT_TASKS = 4;

const NONE: PeerSlots = {
  unannounced: 0,
  submitted: 0,
  waiting: 0,
  mostRunning: 0,
  fullUntil: 0,
  onTrial: false,
  untaken: 0,
};

export interface Capacity {
  /** Tasks that the peer has, ours and others. */
  readonly load: number;
  /** Tasks that the peer runs at the same time. */
  readonly limit: number;
  /** Tasks that the peer can start now. */
  readonly free: number;
  /** Others keep the peer busy, so a task of ours may wait there for its turn. */
  readonly mayQueue: boolean;
}

/**
 * The capacity of a peer (docs/handshake.md#capacity): its announced limit and load, corrected by the tasks that its
 * announce cannot include yet, and by what the peer was seen to run.
 */
export function capacityOf(peer: PeerProfile, now: number): Capacity {
  const { announce, inFlight, maxTasks, slots = NONE } = peer;
  const said = announce && isLive(peer, now) ? announce : undefined;
  const announced = said ? said.session.activeTasks + (said.limits?.queuedTasks ?? 0) : 0;
  const load = Math.max(inFlight, announced + slots.unannounced);
  const allowed = said?.limits?.maxConcurrentTasks ?? maxTasks ?? DEFAULT_TASKS;
  const limit = Math.min(allowed, Math.max(DEFAULT_TASKS, 2 * slots.mostRunning));
  const isFull = now < slots.fullUntil || slots.waiting > 0;
  const free = isFull ? 0 : Math.max(0, limit - load);
  return {
    load,
    limit,
    free: slots.onTrial ? Math.min(free, Math.max(0, 1 - slots.untaken)) : free,
    mayQueue: load > inFlight && slots.submitted === 0,
  };
}
