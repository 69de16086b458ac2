import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import { isLive, type PeerProfile, type PeerSlots } from './peer-profile.ts';

/** The limit of a peer without an announced or configured one. Any announced limit is trusted for so many tasks of ours. */
const DEFAULT_TASKS = 4;

/** How many tasks of ours may wait at a peer that others keep busy, by default. */
export const DEFAULT_BUFFER = 1;

/** A longer pause after a refusal shows that the clock was set back. */
const LONGEST_PAUSE_MS = 5_000;

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
  /** Slots that are taken, by our tasks and by others. */
  readonly load: number;
  /** Tasks that the peer runs at the same time. */
  readonly limit: number;
  /** Tasks that the peer can start now. */
  readonly free: number;
  /** Others keep the peer busy, and fewer tasks of ours than the buffer wait there, so one more may wait for its turn. */
  readonly mayQueue: boolean;
}

/**
 * The capacity of a peer (docs/handshake.md#capacity): its announced limit and load, corrected by the tasks that its
 * announce cannot include yet, and by what the peer was seen to run. `buffer` is `fleet.routing.buffer`.
 */
export function capacityOf(peer: PeerProfile, now: number, buffer = DEFAULT_BUFFER): Capacity {
  const { announce, inFlight, maxTasks, slots = NONE } = peer;
  const said = announce && isLive(peer, now) ? announce : undefined;
  const limit = said?.limits?.maxConcurrentTasks ?? maxTasks ?? DEFAULT_TASKS;
  // A task of ours that waits for a part of its work holds no slot, as announced free slots show.
  const least = said?.limits?.freeSlots === undefined ? inFlight : 0;
  const load = Math.max(least, (said ? announcedLoad(said, limit) : 0) + slots.unannounced);
  // Our own tasks there are the only proof of its limit.
  const trusted = Math.max(DEFAULT_TASKS, 2 * slots.mostRunning) - inFlight;
  const isPaused = now < slots.fullUntil && slots.fullUntil - now <= LONGEST_PAUSE_MS;
  const free = isPaused || slots.waiting > 0 ? 0 : Math.max(0, Math.min(limit - load, trusted));
  return {
    load,
    limit,
    free: slots.onTrial ? Math.min(free, Math.max(0, 1 - slots.untaken)) : free,
    mayQueue: load > inFlight && slots.submitted < buffer,
  };
}

/** Slots that are taken. Tasks that wait for their context take none, so the announced free slots say more than the counts. */
function announcedLoad({ session, limits }: SessionAnnounce, limit: number): number {
  if (limits?.freeSlots !== undefined) return limit - limits.freeSlots;
  return session.activeTasks + (limits?.queuedTasks ?? 0);
}

/** True if the announce says that the peer can start a task now. */
export function hasRoom(announce: SessionAnnounce): boolean {
  const { maxConcurrentTasks: limit = 0, freeSlots } = announce.limits ?? {};
  return freeSlots === undefined ? announcedLoad(announce, limit) < limit : freeSlots > 0;
}
