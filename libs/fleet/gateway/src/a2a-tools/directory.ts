import {
  type A2AClient,
  type AgentCard,
  createA2AClient,
  type DiscoveredAgent,
  type PeerEndpoint,
  type SendRequest,
} from '@hermes-fleet/a2a';
import { createClient, parseDestination } from '@hermes-fleet/net';
import { createPeerHealth, type PeerHealth } from '@hermes-fleet/peers';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, type Log, ToolError } from '@hermes-fleet/protocol/ports';

/** A remote agent as config.yaml registers it (`a2a.agents`). */
export interface RegisteredAgent {
  /** Its base URL, or the URL of its agent card. It may be internal, because config.yaml is trusted. */
  readonly url: string;
  readonly description: string;
  /** The environment variable with the token for this agent. */
  readonly token_env?: string | undefined;
}

export interface A2AToolsOptions {
  /** The registered agents, by name. */
  readonly agents: Readonly<Record<string, RegisteredAgent>>;
  readonly env: { read(name: string): string | undefined };
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for backoff; Math.random when absent. */
  readonly random?: () => number;
  /** Internal hosts (`host` or `host:port`) that may be called without registration; none when absent. */
  readonly allowInternal?: readonly string[];
  /** How long an agent may be unreachable before a call fails, ms; one minute when absent. */
  readonly agentDownAfterMs?: number;
}

export interface RemoteAgent {
  /** Its registered name, else its host. */
  readonly label: string;
  readonly isRegistered: boolean;
  readonly card: AgentCard;
  readonly endpoint: PeerEndpoint;
  readonly client: A2AClient;
  readonly health: PeerHealth;
}

/** Names an agent by exactly one of the two. */
export interface AgentName {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
}

const CARD_TIMEOUT_MS = 10_000;
const CARD_TTL_MS = 300_000;
const MAX_CARDS = 100;
const CARD_REDIRECTS = 3;
/** Bounds one answer, a stream included; a stream that breaks is resumed. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Finds the agent of a name, as `createDirectory` says. */
export type FindAgent = ReturnType<typeof createDirectory>;

/**
 * Returns a function that reads an agent's card, of which the last 100 are cached for five minutes each. It throws ToolError
 * for an unregistered name or an address that may not be called, PEER_REFUSED or PEER_UNREACHABLE when the card cannot be
 * read, and the reason of `signal`.
 */
export function createDirectory(options: A2AToolsOptions) {
  const { clock, log } = options;
  const cards = new Map<
    string,
    { readonly found: DiscoveredAgent; readonly health: PeerHealth; readonly readAt: number }
  >();
  const trusted = createA2AClient({ clock, log, extensions: [] });
  const guarded = createA2AClient({ clock, log, extensions: [], request: guardedRequest(options) });

  async function cardAt({ base, registered }: AgentAddress, signal: AbortSignal) {
    const key = `${registered ? 'registered' : 'other'} ${base.href}`;
    const known = cards.get(key);
    if (known && Math.abs(clock.now() - known.readAt) < CARD_TTL_MS) return known;
    const client = registered ? trusted : guarded;
    const found = await client.discover(base.href, { timeoutMs: CARD_TIMEOUT_MS, signal });
    const read = { found, health: createPeerHealth(clock), readAt: clock.now() };
    cards.delete(key);
    cards.set(key, read);
    const [oldest = key] = cards.keys();
    if (cards.size > MAX_CARDS) cards.delete(oldest);
    return read;
  }

  async function agentAt(address: AgentAddress, signal: AbortSignal): Promise<RemoteAgent> {
    const { base, label, registered } = address;
    const { found, health } = await cardAt(address, signal);
    const url = rpcUrl(found.url, address);
    const isTrusted = registered !== undefined && url.origin === base.origin;
    const token = isTrusted ? tokenOf(label, registered) : undefined;
    return {
      label,
      isRegistered: registered !== undefined,
      card: found.card,
      health,
      client: isTrusted ? trusted : guarded,
      endpoint: {
        name: label,
        url: url.href,
        version: found.version,
        ...(token === undefined ? {} : { token }),
      },
    };
  }

  function tokenOf(name: string, { token_env }: RegisteredAgent): string | undefined {
    if (token_env === undefined) return undefined;
    const token = options.env.read(token_env);
    if (!token) throw new ToolError(`the token for ${name} is missing: the variable ${token_env} is not set`);
    return token;
  }

  return async (name: AgentName, signal: AbortSignal): Promise<RemoteAgent> => {
    try {
      return await agentAt(addressOf(name, options.agents), signal);
    } catch (error) {
      throw toToolError(error);
    }
  };
}

interface AgentAddress {
  readonly label: string;
  readonly base: URL;
  readonly registered: RegisteredAgent | undefined;
}

function addressOf({ name, url }: AgentName, agents: A2AToolsOptions['agents']): AgentAddress {
  if ((name === undefined) === (url === undefined)) throw new ToolError('give either name or url');
  const entries = Object.entries(agents);
  if (name !== undefined) {
    const [, registered] = entries.find(([each]) => each === name) ?? [];
    if (registered) return { label: name, base: new URL(registered.url), registered };
    const names = entries.map(([each]) => each).join(', ') || 'none';
    throw new ToolError(
      `no agent is registered as ${JSON.stringify(name.slice(0, 64))}; there are: ${names}`,
    );
  }
  const base = parseDestination(url ?? '');
  base.hash = '';
  const same = entries.find(([, registered]) => isSame(new URL(registered.url), base));
  if (same) return { label: same[0], base, registered: same[1] };
  return { label: base.host.slice(0, 100), base, registered: undefined };
}

const isSame = (one: URL, other: URL): boolean =>
  one.origin === other.origin && plainPath(one) === plainPath(other);
const plainPath = ({ pathname, search }: URL): string => `${pathname.replace(/\/+$/, '')}${search}`;

/** Names by which an agent refers to its own host. */
const OWN_HOST = /^(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])$/;

/** Replaces a loopback host in a registered agent's card by the registered host. */
function rpcUrl(cardUrl: string, { base, registered }: AgentAddress): URL {
  const url = new URL(cardUrl);
  if (registered === undefined || !OWN_HOST.test(url.hostname)) return url;
  return new URL(`${url.pathname}${url.search}`, base.origin);
}

function guardedRequest({ clock, allowInternal }: A2AToolsOptions): SendRequest {
  const send = createClient('untrusted', { clock, allowInternal });
  return async (url, init) => {
    const maxRedirects = init.method === 'GET' ? CARD_REDIRECTS : 0;
    return (await send(url, { ...init, maxRedirects, maxBytes: MAX_ANSWER_BYTES })).response;
  };
}

/** Turns a refusal by the request guard into a ToolError, which the model sees. */
export function toToolError(error: unknown): unknown {
  if (!(error instanceof FleetError)) return error;
  if (error.code === 'INVALID_PARAMS') return new ToolError(error.message);
  if (error.code !== 'FORBIDDEN') return error;
  return new ToolError(
    `${error.message}; an internal agent has to be registered in config.yaml (a2a.agents)`,
  );
}
