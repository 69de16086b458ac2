import type { FleetConfig } from './fleet-yaml.ts';
import { listenerUrl, normalizePeerUrl } from './peer-url.ts';

/** The rules for peers that fleet.yaml does not list (docs/handshake.md#announce-authorization). */
export interface JoinPolicy {
  /** The callers of fleet.yaml, by name. */
  readonly callers: Readonly<
    Record<string, { readonly joins: boolean; readonly speaksFor: readonly string[] }>
  >;
  /** Patterns of the addresses that workers may join with; empty = no worker may join. */
  readonly endpoints: readonly string[];
  /** The token that this profile sends to workers that joined with the token of a caller that is no configured peer. */
  readonly token?: string;
  /** The addresses of this profile, which no worker may join with. */
  readonly own: readonly string[];
  /** The workers that joined with a join token (docs/peering.md#joining); default: none. */
  readonly workers?: {
    get(name: string): JoinedWorker | undefined;
    list(): readonly JoinedWorker[];
    /** Aborts, with PEER_UNREACHABLE, when the worker is no member any more; undefined for a peer that is none. */
    membership(name: string): AbortSignal | undefined;
  };
}

/** A worker that joined with a join token: its name and its address are its own until it leaves. */
export interface JoinedWorker {
  readonly name: string;
  readonly url: string;
  /** The token that this profile presents to it. */
  readonly token: string;
  /** The time since which it gets no new work, ms since the epoch. */
  readonly leavingAt: number | undefined;
}

/** `token` is the value of `fleet.join.token_env`. */
export function joinPolicy(config: FleetConfig, token: string | undefined): JoinPolicy {
  return {
    callers: callersOf(config),
    endpoints: config.fleet.join?.endpoints ?? [],
    own: ownAddresses(config),
    ...(token === undefined ? {} : { token }),
  };
}

function ownAddresses({ fleet: { server } }: FleetConfig): string[] {
  if (!server) return [];
  const { public_url: publicUrl, bind_host: host } = server;
  const listener = listenerUrl(server, host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host);
  return [listener, ...(publicUrl === undefined ? [] : [normalizePeerUrl(publicUrl)])];
}

function callersOf(config: FleetConfig): JoinPolicy['callers'] {
  const callers = Object.entries(config.fleet.server?.callers ?? {});
  return Object.fromEntries(
    callers.map(([name, { scopes, speaks_for: speaksFor }]) => [
      name,
      { joins: scopes.includes('join'), speaksFor },
    ]),
  );
}
