import type { Clock } from '@hermes-fleet/protocol/ports';

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
  holdConcern(): void;
  /** Waits for another turn, ahead of all later arrivals; false after the longest wait. */
  waitAgain(): Promise<boolean>;
  release(): void;
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

export type ConcernLock = ReturnType<typeof createConcernLock>;

/** Admits one change at a time in each concern. Other attempts wait in the order of their arrival. */
export function createConcernLock(options: { clock: Pick<Clock, 'now' | 'timer'>; keptForPause: number }) {
  const { clock } = options;
  const waitersByConcern = new Map<string, Waiters>();
  let tickets = 0;

  const admit = (waiters: Waiters): void => {
    while (waiters.holder === undefined && waiters.asking < AT_ONCE) {
      const waiter = waiters.queue.shift();
      if (waiter === undefined) return;
      waiters.asking += 1;
      waiter.admit();
    }
  };

  const turnOf = (waiters: Waiters, ticket: number, until: number): Promise<boolean> => {
    if (clock.now() >= until) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = (): void => {
      waiters.queue.splice(waiters.queue.indexOf(waiter), 1);
      resolve(false);
    };
    const timer = clock.timer(giveUp, until - clock.now());
    const waiter: Waiter = {
      ticket,
      admit: () => {
        timer[Symbol.dispose]();
        resolve(true);
      },
    };
    const behind = waiters.queue.findIndex((other) => other.ticket > ticket);
    waiters.queue.splice(behind === -1 ? waiters.queue.length : behind, 0, waiter);
    admit(waiters);
    return promise;
  };

  const enter = (concernId: string, isPause: boolean): Turn | undefined | Promise<Turn | undefined> => {
    const waiters = waitersByConcern.get(concernId) ?? { queue: [], asking: 0, holder: undefined };
    if (waiters.queue.length >= MAX_WAITING + (isPause ? options.keptForPause : 0)) return undefined;
    waitersByConcern.set(concernId, waiters);
    tickets += 1;
    const ticket = tickets;
    const until = clock.now() + (isPause ? LONGEST_PAUSE_WAIT_MS : LONGEST_WAIT_MS);
    const isFree = waiters.holder === undefined && waiters.asking < AT_ONCE && waiters.queue.length === 0;
    if (!isFree)
      return turnOf(waiters, ticket, until).then((isMine) =>
        isMine ? turnAt(concernId, waiters, ticket, until) : undefined,
      );
    waiters.asking += 1;
    return turnAt(concernId, waiters, ticket, until);
  };

  const turnAt = (concernId: string, waiters: Waiters, ticket: number, until: number): Turn => {
    let isAsking = true;
    const stepBack = (): void => {
      if (isAsking) waiters.asking -= 1;
      isAsking = false;
    };
    const turn: Turn = {
      isBusy: () => waiters.holder !== undefined && waiters.holder !== turn,
      holdConcern: () => {
        waiters.holder = turn;
      },
      waitAgain: async () => {
        stepBack();
        isAsking = await turnOf(waiters, ticket, until);
        return isAsking;
      },
      release: () => {
        stepBack();
        if (waiters.holder === turn) waiters.holder = undefined;
        admit(waiters);
        if (waiters.asking === 0 && waiters.queue.length === 0) waitersByConcern.delete(concernId);
      },
    };
    return turn;
  };

  return {
    /** The turn, at once if it is free. Undefined if too many attempts wait, or after the longest wait. */
    enter,
    /** Number of waiting attempts. */
    get waiting() {
      return waitersByConcern.values().reduce((sum, { queue }) => sum + queue.length, 0);
    },
  };
}
