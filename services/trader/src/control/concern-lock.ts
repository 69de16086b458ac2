import type { Clock } from '@hermes-fleet/protocol';

/** Most attempts that query the store about one concern at once. They share a commit, and one of them may apply a change. */
const AT_ONCE = 32;
const MAX_WAITING = 1000;
const LONGEST_WAIT_MS = 15_000;
/** A pause waits longer than any attempt before it. */
const LONGEST_PAUSE_WAIT_MS = 2 * LONGEST_WAIT_MS;

/** An attempt's turn at its concern. */
export interface Turn {
  /** True while another attempt's change is activated. */
  isBusy(): boolean;
  /** Makes the concern busy for all others until `leave`. Called inside the transaction. */
  mark(): void;
  /** Waits for another turn, ahead of all later arrivals; false after the longest wait. */
  again(): Promise<boolean>;
  leave(): void;
}

/** Admits one change at a time in each concern. Other attempts wait in the order of their arrival. */
export interface ConcernLock {
  /** Resolves with undefined if too many attempts wait, or after the longest wait. */
  enter(concernId: string, isPause: boolean): Promise<Turn | undefined>;
  /** Number of waiting attempts. */
  readonly waiting: number;
}

interface Waiter {
  readonly ticket: number;
  readonly admit: () => void;
}

interface Waiters {
  readonly queue: Waiter[];
  asking: number;
  holder: Turn | undefined;
}

export function createConcernLock(o: {
  clock: Pick<Clock, 'now' | 'timer'>;
  keptForPause: number;
}): ConcernLock {
  const { clock } = o;
  const rooms = new Map<string, Waiters>();
  let tickets = 0;

  const admit = (room: Waiters): void => {
    while (room.holder === undefined && room.asking < AT_ONCE) {
      const place = room.queue.shift();
      if (place === undefined) return;
      room.asking += 1;
      place.admit();
    }
  };

  const turnOf = (room: Waiters, ticket: number, until: number): Promise<boolean> => {
    if (clock.now() >= until) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = (): void => {
      room.queue.splice(room.queue.indexOf(place), 1);
      resolve(false);
    };
    const timer = clock.timer(giveUp, until - clock.now());
    const place: Waiter = {
      ticket,
      admit: () => {
        timer[Symbol.dispose]();
        resolve(true);
      },
    };
    const behind = room.queue.findIndex((other) => other.ticket > ticket);
    room.queue.splice(behind === -1 ? room.queue.length : behind, 0, place);
    admit(room);
    return promise;
  };

  const enter = async (concernId: string, isPause: boolean): Promise<Turn | undefined> => {
    const room = rooms.get(concernId) ?? { queue: [], asking: 0, holder: undefined };
    if (room.queue.length >= MAX_WAITING + (isPause ? o.keptForPause : 0)) return undefined;
    rooms.set(concernId, room);
    tickets += 1;
    const ticket = tickets;
    const until = clock.now() + (isPause ? LONGEST_PAUSE_WAIT_MS : LONGEST_WAIT_MS);
    const isFree = room.holder === undefined && room.asking < AT_ONCE && room.queue.length === 0;
    if (isFree) room.asking += 1;
    else if (!(await turnOf(room, ticket, until))) return undefined;

    let isAsking = true;
    const stepBack = (): void => {
      if (isAsking) room.asking -= 1;
      isAsking = false;
    };
    const turn: Turn = {
      isBusy: () => room.holder !== undefined && room.holder !== turn,
      mark: () => {
        room.holder = turn;
      },
      again: async () => {
        stepBack();
        isAsking = await turnOf(room, ticket, until);
        return isAsking;
      },
      leave: () => {
        stepBack();
        if (room.holder === turn) room.holder = undefined;
        admit(room);
        if (room.asking === 0 && room.queue.length === 0) rooms.delete(concernId);
      },
    };
    return turn;
  };

  return {
    enter,
    get waiting() {
      return rooms.values().reduce((sum, { queue }) => sum + queue.length, 0);
    },
  };
}
