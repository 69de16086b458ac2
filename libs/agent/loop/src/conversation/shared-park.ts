import type { RunContext } from '@hermes-fleet/protocol/ports';

/** Parks the run while all of its concurrent calls wait. Call it once for each call, before any starts. */
export function createSharedPark(park: RunContext['park']) {
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
      async park<T>(wait: () => Promise<T>): Promise<T> {
        waiting += 1;
        parkIfAllWait();
        const value = await wait().catch(async (error: unknown) => {
          await goOn().catch(() => {});
          throw error;
        });
        await goOn();
        return value;
      },
      /** The call has ended: the others wait without it. */
      leave(): void {
        members -= 1;
        parkIfAllWait();
      },
    };
  };
}
