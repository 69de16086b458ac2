import type { JoinedWorker, JoinPolicy } from '@hermes-fleet/fleet-config';
import {
  allowedEndpoint,
  type ConfiguredPeer,
  matchesName,
  SHARED_CALLER,
  samePeerUrl,
} from '@hermes-fleet/fleet-config';
import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';

/**
 * The sender of an announce. With scopes: the caller whose token it came with. Without: the peer that answered at its
 * address, or the only NATS user that may publish on the subject.
 */
export interface AnnounceSource {
  readonly name: string;
  readonly scopes?: ReadonlySet<string>;
}

/** A joined worker is bound to the caller of its token and to its address. */
export interface JoinBinding {
  readonly caller: string;
  readonly url: string;
}

export interface AuthorizationContext {
  readonly self: string;
  readonly configured: ReadonlyMap<string, ConfiguredPeer>;
  readonly policy: JoinPolicy;
  /** The binding of the joined peer with this name; `live` = its last announce has not expired. */
  joined(name: string): (JoinBinding & { readonly live: boolean }) | undefined;
  /** The live peer that joined with this address. */
  ownerOf(url: string): string | undefined;
}

/** The standing of the peer after the announce, or the reason of a refusal. */
export type Authorization =
  | { readonly standing: 'configured' }
  | { readonly standing: 'joined'; readonly joined: JoinBinding }
  | { readonly standing: 'known'; readonly note?: string }
  | { readonly standing: 'refused'; readonly reason: string };

/** Authorizes an announce by its sender and its endpoint (docs/handshake.md#announce-authorization). Pure. */
export function authorizeAnnounce(
  announce: SessionAnnounce,
  from: AnnounceSource,
  context: AuthorizationContext,
): Authorization {
  const { agentId } = announce.worker;
  if (agentId === context.self) return refused(`${agentId} is this profile itself`);
  const configured = context.configured.get(agentId);
  if (configured) return authorizeConfigured(announce, from, configured);
  const worker = context.policy.workers?.get(agentId);
  if (worker) return authorizeWorker(announce, from, worker);
  return from.scopes === undefined
    ? authorizeWithoutToken(announce, from, context)
    : authorizeWithToken(announce, { name: from.name, scopes: from.scopes }, context);
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

/** A worker that joined with a join token announces itself alone, at the address that it proved. */
function authorizeWorker(
  announce: SessionAnnounce,
  from: AnnounceSource,
  worker: JoinedWorker,
): Authorization {
  const { name, url } = worker;
  if (from.name !== name) return refused(`${from.name} may not speak for ${name}`);
  const { endpoint } = announce;
  if (endpoint === undefined || samePeerUrl(endpoint, url))
    return { standing: 'joined', joined: { caller: name, url } };
  return refused(`${name} joined with ${url}, and says now that it is at ${endpoint}`);
}

/** An answer or a NATS message proves a name, but no right to join. It can keep a joined worker alive. */
function authorizeWithoutToken(
  announce: SessionAnnounce,
  from: AnnounceSource,
  context: AuthorizationContext,
): Authorization {
  const { agentId } = announce.worker;
  if (agentId !== from.name) return refused(`${from.name} may not speak for ${agentId}`);
  const known = context.joined(agentId);
  if (!known) return { standing: 'known' };
  const { caller, url } = known;
  if (announce.endpoint !== undefined && samePeerUrl(announce.endpoint, url))
    return { standing: 'joined', joined: { caller, url } };
  return refused(`${agentId} joined with ${url}, and says now that it is at ${announce.endpoint ?? 'none'}`);
}

function authorizeWithToken(
  announce: SessionAnnounce,
  from: Required<AnnounceSource>,
  context: AuthorizationContext,
): Authorization {
  const { agentId } = announce.worker;
  if (!maySpeakFor(from.name, agentId, context.policy))
    return refused(`caller ${from.name} may not speak for ${agentId}`);
  const known = context.joined(agentId);
  if (known?.live && known.caller !== from.name)
    return refused(`${agentId} has joined with the token of ${known.caller}, and is live`);
  if (!from.scopes.has('join') || context.policy.endpoints.length === 0) return { standing: 'known' };
  const { endpoint } = announce;
  if (endpoint === undefined) return { standing: 'known', note: 'it announces no endpoint' };
  const url = allowedEndpoint(endpoint, context.policy.endpoints);
  if (url === undefined)
    return refused(`${agentId} may not join with ${endpoint}: fleet.join.endpoints does not allow it`);
  const owner = ownerOf(url, agentId, context);
  if (owner !== undefined)
    return refused(`${agentId} may not join with ${endpoint}: that is where ${owner} is`);
  return { standing: 'joined', joined: { caller: from.name, url } };
}

/** A caller may speak for itself and for the names in its `speaks_for`, but never for another caller. */
function maySpeakFor(caller: string, agentId: string, { callers }: JoinPolicy): boolean {
  if (agentId === caller) return true;
  if (Object.hasOwn(callers, agentId) || !Object.hasOwn(callers, caller)) return false;
  return callers[caller]?.speaksFor.some((pattern) => matchesName(pattern, agentId)) ?? false;
}

/** The other owner of an address. One worker under two names would be asked twice. */
export function ownerOf(
  url: string,
  agentId: string,
  context: Pick<AuthorizationContext, 'self' | 'configured' | 'policy' | 'ownerOf'>,
): string | undefined {
  if (context.policy.own.some((own) => samePeerUrl(own, url))) return context.self;
  for (const [name, configured] of context.configured) if (samePeerUrl(configured.url, url)) return name;
  for (const worker of context.policy.workers?.list() ?? [])
    if (worker.name !== agentId && samePeerUrl(worker.url, url)) return worker.name;
  const owner = context.ownerOf(url);
  return owner === agentId ? undefined : owner;
}

const refused = (reason: string): Authorization => ({ standing: 'refused', reason });

/**
 * The source of a stored announce: the caller whose token it came with, with its current scopes. Without a caller it was
 * an answer or a NATS message of the peer itself.
 */
export function storedSource(
  agentId: string,
  caller: string | undefined,
  { callers }: JoinPolicy,
): AnnounceSource {
  if (caller === undefined) return { name: agentId };
  const joins = Object.hasOwn(callers, caller) && callers[caller]?.joins === true;
  return { name: caller, scopes: new Set(joins ? ['join'] : []) };
}
