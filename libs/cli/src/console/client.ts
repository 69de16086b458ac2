import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { textAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { CONSOLE } from '../keys/layout.ts';

/** A console that runs. */
export interface ConsoleTarget {
  /** Where this process reaches it, without a path. */
  readonly url: string;
  /** CONSOLE_LOGIN of its keys. */
  readonly login: string;
}

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
  const answer = await call(target, '/api/codes');
  return { url: new URL(textAt(answer, 'path'), address).href, expires_at: textAt(answer, 'expires_at') };
}

export interface Rebuilt {
  /** The time of the oldest event that the streams still have, in ISO 8601; null if there is none. */
  readonly reaches_back_to: string | null;
}

/** Has the console make its read model again from the streams. Throws as `newLink`. */
export async function rebuild(target: ConsoleTarget): Promise<Rebuilt> {
  const { reaches_back_to: oldest } = await call(target, '/api/rebuild');
  return { reaches_back_to: typeof oldest === 'string' ? oldest : null };
}

/** The highest head of each audit that the console ever saw. Throws as `newLink`. */
export const seenHeads = (target: ConsoleTarget): Promise<JsonObject> =>
  call(target, '/api/audit/heads', 'GET');

async function call(
  { url, login }: ConsoleTarget,
  path: string,
  method: 'GET' | 'POST' = 'POST',
): ReturnType<typeof callApi> {
  try {
    return await callApi({ name: CONSOLE, url, token: login }, path, undefined, method);
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
