import { createTurns } from '../server/turns.ts';

/** The notifications of a caller that are sent at a time: a dead target of one caller delays no other caller. */
const PER_CALLER = 16;
/** Those of them that go to the same host: up to three dead hosts of a caller delay none of its other ones. */
const PER_HOST = 4;

/** The slots in which notifications are sent; the others wait in the order in which they asked. */
export interface TargetSlots {
  /** Resolves with a slot, which must be disposed. `host` is that of the URL, with its port. Rejects with the signal's reason. */
  take(caller: string, host: string, signal: AbortSignal): Promise<Disposable>;
}

export function createTargetSlots(): TargetSlots {
  const ofCaller = createTurns(PER_CALLER);
  const ofHost = createTurns(PER_HOST);
  return {
    async take(caller, host, signal) {
      using taken = new DisposableStack();
      // No host of a URL has a space. The host's turn comes first: those that wait for a host take no slot of the caller.
      taken.use(await ofHost.take(`${host} ${caller}`, signal));
      taken.use(await ofCaller.take(caller, signal));
      return taken.move();
    },
  };
}
