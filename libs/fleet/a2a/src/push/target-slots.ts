import { createTurns } from '../server/turns.ts';

/** How a host has answered a caller's notifications: `new` without any attempt, `silent` if its last one got no answer. */
type Standing = 'new' | 'answering' | 'silent';

/**
 * The notifications of a caller that are sent at a time, by the standing of their host: hosts that do not answer delay
 * neither those that do nor those that are asked for the first time, and one caller delays no other.
 */
const PER_CALLER: Readonly<Record<Standing, number>> = { answering: 12, new: 16, silent: 4 };
/** Those of them that go to the same host, if it answers. Any other host gets one at a time. */
const PER_HOST = 4;
/** The hosts whose standing is known; the one that was heard of the longest ago is forgotten first. */
const MAX_KNOWN = 10_000;

/** The caller of a config, and the host of its URL with its port. */
export interface TargetHost {
  readonly caller: string;
  readonly host: string;
}

/** The slots in which notifications are sent; the others wait in the order in which they asked. */
export interface TargetSlots {
  /** Resolves with a slot, which must be disposed. Rejects with the signal's reason. */
  takeSlot(target: TargetHost, signal: AbortSignal): Promise<Disposable>;
  /** Records whether the host answered the last attempt, with whatever status. */
  heard(target: TargetHost, isAnswered: boolean): void;
}

export function createTargetSlots(): TargetSlots {
  const ofHost = createTurns(PER_HOST);
  const ofUnprovenHost = createTurns(1);
  const ofCaller = {
    new: createTurns(PER_CALLER.new),
    answering: createTurns(PER_CALLER.answering),
    silent: createTurns(PER_CALLER.silent),
  };
  const known = new Map<string, Standing>();
  // No host of a URL has a space.
  const keyOf = ({ caller, host }: TargetHost): string => `${host} ${caller}`;
  const standingOf = (key: string): Standing => known.get(key) ?? 'new';

  return {
    async takeSlot(target, signal) {
      const key = keyOf(target);
      using taken = new DisposableStack();
      // The host's turn comes first: those that wait for a host take no slot of the caller.
      taken.use(await ofHost.takeTurn(key, signal));
      for (;;) {
        const standing = standingOf(key);
        using tried = new DisposableStack();
        if (standing !== 'answering') tried.use(await ofUnprovenHost.takeTurn(key, signal));
        if (standing !== standingOf(key)) continue;
        tried.use(await ofCaller[standing].takeTurn(target.caller, signal));
        // Another attempt may have ended while this one waited: a silent host takes no slot of new ones.
        if (standing !== standingOf(key)) continue;
        taken.use(tried.move());
        return taken.move();
      }
    },
    heard(target, isAnswered) {
      const key = keyOf(target);
      known.delete(key);
      known.set(key, isAnswered ? 'answering' : 'silent');
      const [oldest] = known.keys();
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    },
  };
}
