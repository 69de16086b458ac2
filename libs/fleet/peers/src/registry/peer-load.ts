import { backoffMs } from '@hermes-fleet/protocol';
import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { PeerSlots } from '../peer-profile.ts';

/** How long a peer that refused a task for want of a slot gets none, unless it announces a free slot before. */
const FULL_PAUSE = { firstMs: 500, longestMs: 5_000 };
/** Without timestamps of the peer, an announce includes a task that it acknowledged this long before, ms. */
const SETTLED_MS = 1_000;
/** A peer that starts a task at once reports it as submitted for a moment, ms. */
const STARTING_MS = 200;
/** Bounds the tasks that are remembered after they left the peer. */
const MAX_LEFT = 1_000;

/** A task of this profile at a peer, or on its way there. It counts until it is disposed. */
export interface TaskAtPeer extends Disposable {
  /** The peer has the task, in this A2A state; `at` is the time of the state by the peer's clock, ms since the epoch. */
  observe(state: string, at: number | undefined): void;
}

/** An announce as far as it concerns the load. */
type Announced = Pick<SessionAnnounce, 'sentAt'> & { readonly receivedAt: number };

interface Stay {
  /** When the peer took the task: by its own clock, and by ours. */
  from?: { readonly theirs: number | undefined; readonly ours: number };
  /** When it was first seen to wait there for a slot, ms. */
  waitsSince: number | undefined;
}
interface Left {
  readonly from: NonNullable<Stay['from']>;
  readonly until: NonNullable<Stay['from']>;
}

/** The tasks of this profile at one peer, compared with what the peer announces (docs/handshake.md#capacity). */
export function createPeerLoad(clock: Pick<Clock, 'now'>, random: () => number = Math.random) {
  const here = new Set<Stay>();
  let left: Left[] = [];
  let refusals = 0;
  let fullUntil = 0;
  let mostRunning = 0;
  const count = (matches: (stay: Stay) => boolean): number => here.values().filter(matches).toArray().length;

  return {
    track(): TaskAtPeer {
      const stay: Stay = { waitsSince: undefined };
      let lastAt: number | undefined;
      here.add(stay);
      return {
        observe(state, at) {
          lastAt = at;
          stay.from ??= { theirs: at, ours: clock.now() };
          stay.waitsSince = state === 'submitted' ? (stay.waitsSince ?? clock.now()) : undefined;
          if (state === 'rejected') return;
          refusals = 0;
          const running = count(({ from, waitsSince }) => from !== undefined && waitsSince === undefined);
          mostRunning = Math.max(mostRunning, running);
        },
        [Symbol.dispose]() {
          if (!here.delete(stay) || !stay.from) return;
          left.push({ from: stay.from, until: { theirs: lastAt, ours: clock.now() } });
          if (left.length > MAX_LEFT) left.shift();
        },
      };
    },
    /** The peer refused a task because it has no free slot. */
    recordFull(): void {
      refusals += 1;
      fullUntil = clock.now() + backoffMs(refusals, { ...FULL_PAUSE, random });
    },
    /** The peer announced a free slot. */
    recordRoom(): void {
      // The next pause is longer all the same, until the peer takes a task: it may announce room and refuse.
      fullUntil = 0;
    },
    get inFlight(): number {
      return here.size;
    },
    slots(given: Announced | undefined): PeerSlots {
      if (here.size === 0 && left.length === 0)
        return { ...NOBODY, mostRunning, fullUntil, onTrial: refusals > 0 };
      const announce = given && { sentAt: sentMs(given), receivedAt: given.receivedAt };
      // An announce of the same millisecond counts as made before the end: a wrong guess costs a refusal, and the other one a
      // free slot until the next announce.
      left = announce ? left.filter(({ until }) => msAfter(until, announce) <= 0) : [];
      const unseen = count(({ from }) => !from || !announce || msAfter(from, announce) < 0);
      const gone = left.filter(({ from }) => announce && msAfter(from, announce) >= 0).length;
      return {
        unannounced: unseen - gone,
        submitted: count(({ from, waitsSince }) => from === undefined || waitsSince !== undefined),
        waiting: count(
          ({ waitsSince = Number.POSITIVE_INFINITY }) => waitsSince + STARTING_MS <= clock.now(),
        ),
        mostRunning,
        fullUntil,
        onTrial: refusals > 0,
        untaken: count(({ from }) => !from),
      };
    },
  };
}

const NOBODY = { unannounced: 0, submitted: 0, waiting: 0, untaken: 0 };

/** When an announce was made, by the peer's clock (NaN if it does not say), and when it came, by ours; ms since the epoch. */
interface Times {
  readonly sentAt: number;
  readonly receivedAt: number;
}

const sentMs = ({ sentAt }: Announced): number => (sentAt === undefined ? Number.NaN : Date.parse(sentAt));

/** How long after this time the announce was made, by the peer's clock, or else by ours and for certain. */
function msAfter({ theirs, ours }: NonNullable<Stay['from']>, { sentAt, receivedAt }: Times): number {
  if (theirs === undefined || Number.isNaN(sentAt)) return receivedAt - ours - SETTLED_MS;
  return sentAt - theirs;
}
