import type { JoinPolicy } from '@hermes-fleet/fleet-config';
import {
  allowedEndpoint,
  type ConfiguredPeer,
  matchesName,
  SHARED_CALLER,
  samePeerUrl,
} from '@hermes-fleet/fleet-config';
import type { SessionAnnounce } from '@hermes-fleet/protocol';

/**
 * Who an announce comes from. With scopes: the caller whose token it came with. Without: a peer that answered us at
 * its address, or the NATS user that alone may publish on its subject.
 */
export interface AnnounceSource {
  readonly name: string;
  readonly scopes?: ReadonlySet<string>;
}

/** A worker that joined: whose token it came with, and the address that it is held to. */
export interface JoinBinding {
  readonly caller: string;
  readonly url: string;
}

/** What the rules look at beside the announce. */
export interface AuthorizationContext {
  readonly self: string;
  readonly configured: ReadonlyMap<string, ConfiguredPeer>;
  readonly policy: JoinPolicy;
  /** How the peer of this name joined, if it did, and whether its last announce has expired. */
  joined(name: string): (JoinBinding & { readonly live: boolean }) | undefined;
  /** The live peer that joined with this address. */
  ownerOf(url: string): string | undefined;
}

/** Whether an announce is believed, and what the peer is after it. */
export type Authorization =
  | { readonly standing: 'configured' }
  | { readonly standing: 'joined'; readonly joined: JoinBinding }
  | { readonly standing: 'known'; readonly note?: string }
  | { readonly standing: 'refused'; readonly reason: string };

/** Judges an announce by who sent it and where it says it is (design 2, SESSION_ANNOUNCE: who is believed). Pure. */
export function authorizeAnnounce(
  announce: SessionAnnounce,
  from: AnnounceSource,
  ground: AuthorizationContext,
): Authorization {
  const { agentId } = announce.worker;
  if (agentId === ground.self) return refused(`${agentId} is this profile itself`);
  const configured = ground.configured.get(agentId);
  if (configured) return authorizeConfigured(announce, from, configured);
  return from.scopes === undefined
    ? authorizeWithoutToken(announce, from, ground)
    : authorizeWithToken(announce, { name: from.name, scopes: from.scopes }, ground);
}

function authorizeConfigured(
  announce: SessionAnnounce,
  from: AnnounceSource,
  { url }: ConfiguredPeer,
): Authorization {
  const { agentId } = announce.worker;
  const shared = from.scopes !== undefined && from.name === SHARED_CALLER.name;
  if (agentId !== from.name && !shared) return refused(`${from.name} may not speak for ${agentId}`);
  const { endpoint } = announce;
  if (endpoint === undefined || samePeerUrl(endpoint, url)) return { standing: 'configured' };
  return refused(`${agentId} says that it is at ${endpoint}, but is configured at ${url}`);
}

/** An answer or a message on NATS proves a name, and no right to join; it may keep alive what has joined. */
function authorizeWithoutToken(
  announce: SessionAnnounce,
  from: AnnounceSource,
  ground: AuthorizationContext,
): Authorization {
  const { agentId } = announce.worker;
  if (agentId !== from.name) return refused(`${from.name} may not speak for ${agentId}`);
  const known = ground.joined(agentId);
  if (!known) return { standing: 'known' };
  const { caller, url } = known;
  if (announce.endpoint !== undefined && samePeerUrl(announce.endpoint, url))
    return { standing: 'joined', joined: { caller, url } };
  return refused(`${agentId} joined with ${url}, and says now that it is at ${announce.endpoint ?? 'none'}`);
}

function authorizeWithToken(
  announce: SessionAnnounce,
  from: Required<AnnounceSource>,
  ground: AuthorizationContext,
): Authorization {
  const { agentId } = announce.worker;
  if (!maySpeakFor(from.name, agentId, ground.policy))
    return refused(`caller ${from.name} may not speak for ${agentId}`);
  const known = ground.joined(agentId);
  if (known?.live && known.caller !== from.name)
    return refused(`${agentId} has joined with the token of ${known.caller}, and is live`);
  if (!from.scopes.has('join') || ground.policy.endpoints.length === 0) return { standing: 'known' };
  const { endpoint } = announce;
  if (endpoint === undefined) return { standing: 'known', note: 'it says no endpoint to reach it at' };
  const url = allowedEndpoint(endpoint, ground.policy.endpoints);
  if (url === undefined)
    return refused(`${agentId} may not join with ${endpoint}: fleet.join.endpoints does not allow it`);
  const holder = ownerOf(url, agentId, ground);
  if (holder !== undefined)
    return refused(`${agentId} may not join with ${endpoint}: that is where ${holder} is`);
  return { standing: 'joined', joined: { caller: from.name, url } };
}

/** Itself, and the names that fleet.yaml gives it; never another caller's (a configured peer's is judged before). */
function maySpeakFor(caller: string, agentId: string, { callers }: JoinPolicy): boolean {
  if (agentId === caller) return true;
  if (Object.hasOwn(callers, agentId) || !Object.hasOwn(callers, caller)) return false;
  return callers[caller]?.speaksFor.some((pattern) => matchesName(pattern, agentId)) ?? false;
}

/** Who else has this address already: two names for one worker would be asked twice. */
function ownerOf(url: string, agentId: string, ground: AuthorizationContext): string | undefined {
  if (ground.policy.own.some((own) => samePeerUrl(own, url))) return ground.self;
  for (const [name, configured] of ground.configured) if (samePeerUrl(configured.url, url)) return name;
  const holder = ground.ownerOf(url);
  return holder === agentId ? undefined : holder;
}

const refused = (reason: string): Authorization => ({ standing: 'refused', reason });
