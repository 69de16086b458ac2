import { FleetError } from '@hermes-fleet/protocol';

/** A profile and its address, without a path. */
export interface Named {
  readonly name: string;
  readonly url: string;
}

/** Where and as whom a profile is called. */
export interface Caller extends Named {
  readonly token: string;
}

/** An HTTP request to a profile. Throws PEER_UNREACHABLE when nobody answers. */
export async function reach(profile: Named, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${profile.url}${path}`, init);
  } catch (cause) {
    throw new FleetError('PEER_UNREACHABLE', `${profile.name} does not answer at ${profile.url}`, { cause });
  }
}

/** The JSON of an answer, undefined for what is none. Throws PEER_UNREACHABLE when it breaks off. */
export async function jsonOf(profile: Named, response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw new FleetError('PEER_UNREACHABLE', `${profile.name} did not finish its answer`, { cause });
  }
}
