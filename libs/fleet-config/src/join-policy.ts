import type { FleetConfig } from './config.ts';
import { listenerUrl, normalizePeerUrl } from './peer-url.ts';

/** Whom this profile believes an announce of a peer that fleet.yaml does not list (design 2, SESSION_ANNOUNCE). */
export interface JoinPolicy {
  /** The callers of fleet.yaml, by name. */
  readonly callers: Readonly<
    Record<string, { readonly joins: boolean; readonly speaksFor: readonly string[] }>
  >;
  /** Patterns of the addresses that a worker may join with; empty: nobody joins. */
  readonly endpoints: readonly string[];
  /** What is shown to workers that joined, and to nobody else. */
  readonly token?: string;
  /** Addresses of this profile itself, which nobody else can have. */
  readonly own: readonly string[];
}

/** What fleet.yaml says of joining; `token` is the value of `fleet.join.token_env`. */
export function joinPolicy(config: FleetConfig, token: string | undefined): JoinPolicy {
  return {
    callers: speakers(config),
    endpoints: config.fleet.join?.endpoints ?? [],
    own: ownAddresses(config),
    ...(token === undefined ? {} : { token }),
  };
}

function ownAddresses({ fleet: { server } }: FleetConfig): string[] {
  if (!server) return [];
  const { public_url: publicUrl, bind_host: host, bind_port: port } = server;
  const listener = listenerUrl(host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port);
  return [listener, ...(publicUrl === undefined ? [] : [normalizePeerUrl(publicUrl)])];
}

function speakers(config: FleetConfig): JoinPolicy['callers'] {
  const callers = Object.entries(config.fleet.server?.callers ?? {});
  return Object.fromEntries(
    callers.map(([name, { scopes, speaks_for: speaksFor }]) => [
      name,
      { joins: scopes.includes('join'), speaksFor },
    ]),
  );
}
