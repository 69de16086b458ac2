import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE as ROUTES } from '@hermes-fleet/protocol/api';
import { fleetApi, type Target } from '../client/api.ts';
import { CONSOLE } from '../keys/layout.ts';

/** A console that runs: where this process reaches it, and CONSOLE_LOGIN of its keys. */
export type ConsoleTarget = Pick<Target, 'url' | 'token'>;

export interface ConsoleLink {
  /** Opens the console once. */
  readonly url: string;
  /** ISO 8601. */
  readonly expires_at: string;
}

/**
 * Has the console make a one-time code (docs/console.md#signing-in); `address` is the console's address for the browser, that
 * of `target` by default. Throws PEER_UNREACHABLE, UNAUTHENTICATED and PEER_REFUSED.
 */
export async function newLink(target: ConsoleTarget, address: string = target.url): Promise<ConsoleLink> {
  const { path, expires_at } = await called(fleetApi().call({ name: CONSOLE, ...target }, ROUTES.codes));
  return { url: new URL(path, address).href, expires_at };
}

/** Has the console make its read model again from the streams. Throws as `newLink`. */
export const rebuild = (target: ConsoleTarget) =>
  called(fleetApi().call({ name: CONSOLE, ...target }, ROUTES.rebuild));

/** The highest head of each audit that the console ever saw. Throws as `newLink`. */
export const seenHeads = (target: ConsoleTarget) =>
  called(fleetApi().call({ name: CONSOLE, ...target }, ROUTES.auditHeads));

async function called<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (!(cause instanceof FleetError)) throw cause;
    if (cause.code === 'PEER_UNREACHABLE') {
      const reason = `${cause.message}: make up starts it, and says why where it does not start`;
      throw new FleetError('PEER_UNREACHABLE', reason, { cause });
    }
    if (cause.code !== 'UNAUTHENTICATED') throw cause;
    const reason = 'the console does not accept CONSOLE_LOGIN of its keys: restart the console';
    throw new FleetError('UNAUTHENTICATED', reason, { cause });
  }
}
