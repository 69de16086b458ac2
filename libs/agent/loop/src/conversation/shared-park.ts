import type { RunContext } from '@hermes-fleet/protocol/ports';

export interface SharedPark {
  /** The `park` of one of the calls. */
  readonly park: RunContext['park'];
  /** The call has ended: the others wait without it. */
  leave(): void;
}

/**
 * Lets calls that run at the same time park one by one, although a run parks as a whole and once: it is parked while all of
 * them wait. A call whose wait is over goes on when the run has a slot again. Call it once for each call, before any starts.
 */
export function createSharedPark(park: RunContext['park']): () => SharedPark {
  let members = 0;
  let waiting = 0;
  let parked: { readonly wake: () => void; readonly ended: Promise<void> } | undefined;

  function parkIfAllWait(): void {
    if (parked !== undefined || members === 0 || waiting < members) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const ended = park(() => promise).finally(() => {
      parked = undefined;
    });
    ended.catch(() => {});
    parked = { wake: resolve, ended };
  }

  /** One of the calls goes on: the run needs its slot. */
  async function goOn(): Promise<void> {
    waiting -= 1;
    parked?.wake();
    await parked?.ended;
  }

  return () => {
    members += 1;
    return {
      async park(wait) {
        waiting += 1;
        parkIfAllWait();
        const value = await wait().catch(async (error: unknown) => {
          await goOn().catch(() => {});
          throw error;
        });
        await goOn();
        return value;
      },
      leave() {
        members -= 1;
        parkIfAllWait();
      },
    };
  };
}
