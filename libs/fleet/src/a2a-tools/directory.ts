import {
  type A2AClient,
  type AgentCard,
  createA2AClient,
  type DiscoveredAgent,
  type PeerEndpoint,
  type SendRequest,
} from '@hermes-fleet/a2a';
import { guardedFetch, parseDestination } from '@hermes-fleet/outbound';
import { createPeerHealth, type PeerHealth } from '@hermes-fleet/peers';
import { FleetError, ToolError } from '@hermes-fleet/protocol';
import { createCardCache } from './card-cache.ts';
import type { A2AToolsOptions, RegisteredAgent } from './options.ts';

/** A remote agent, and the way to it. */
export interface RemoteAgent {
  /** Its registered name, else its host. */
  readonly label: string;
  readonly isRegistered: boolean;
  readonly card: AgentCard;
  readonly endpoint: PeerEndpoint;
  readonly client: A2AClient;
  readonly behaviour: PeerHealth;
}

/** How a model names an agent: by exactly one of both. */
export interface AgentName {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
}

export interface Directory {
  /**
   * The agent by its card, which is kept for a while. Throws ToolError for a name that is not registered and for what may
   * not be called, PEER_REFUSED and PEER_UNREACHABLE for what its card came to, and the reason of `signal`.
   */
  find(named: AgentName, signal: AbortSignal): Promise<RemoteAgent>;
}

const CARD_TIMEOUT_MS = 10_000;
const CARD_REDIRECTS = 3;
/** Of one answer, streams included: those are taken up again where they break. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export function createDirectory(o: A2AToolsOptions): Directory {
  const { clock, log } = o;
  const cards = createCardCache<{ readonly found: DiscoveredAgent; readonly behaviour: PeerHealth }>(clock);
  const trusted = createA2AClient({ clock, log, extensions: [] });
  const guarded = createA2AClient({ clock, log, extensions: [], request: guardedRequest(o) });

  async function agentAt(place: Place, signal: AbortSignal): Promise<RemoteAgent> {
    const { base, registered } = place;
    const client = registered ? trusted : guarded;
    const { found, behaviour } = await cards.get(
      `${registered ? 'registered' : 'other'} ${base.href}`,
      async () => {
        const card = await client.discover(base.href, { timeoutMs: CARD_TIMEOUT_MS, signal });
        return { found: card, behaviour: createPeerHealth(clock) };
      },
    );
    const url = rpcUrl(found.url, place);
    const isHome = registered !== undefined && url.origin === base.origin;
    const token = isHome ? tokenOf(place.label, registered) : undefined;
    return {
      label: place.label,
      isRegistered: registered !== undefined,
      card: found.card,
      behaviour,
      client: isHome ? trusted : guarded,
      endpoint: {
        name: place.label,
        url: url.href,
        version: found.version,
        ...(token === undefined ? {} : { token }),
      },
    };
  }

  function tokenOf(name: string, { token_env }: RegisteredAgent): string | undefined {
    if (token_env === undefined) return undefined;
    const token = o.env.read(token_env);
    if (!token) throw new ToolError(`the token for ${name} is missing: the variable ${token_env} is not set`);
    return token;
  }

  return {
    async find(named, signal) {
      try {
        return await agentAt(placeOf(named, o.agents), signal);
      } catch (error) {
        throw refusalOf(error);
      }
    },
  };
}

interface Place {
  readonly label: string;
  readonly base: URL;
  readonly registered: RegisteredAgent | undefined;
}

function placeOf({ name, url }: AgentName, agents: A2AToolsOptions['agents']): Place {
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

/** The names under which an agent means the machine that it runs on. */
const ITSELF = /^(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])$/;

/** An agent that has a registered address and calls itself by a name of its own machine's is meant there. */
function rpcUrl(said: string, { base, registered }: Place): URL {
  const url = new URL(said);
  if (registered === undefined || !ITSELF.test(url.hostname)) return url;
  return new URL(`${url.pathname}${url.search}`, base.origin);
}

function guardedRequest({ clock, allowInternal }: A2AToolsOptions): SendRequest {
  return async (url, init) => {
    const maxRedirects = init.method === 'GET' ? CARD_REDIRECTS : 0;
    const o = { ...init, clock, allowInternal, maxRedirects, maxBytes: MAX_ANSWER_BYTES };
    return (await guardedFetch(url, o)).response;
  };
}

/** What the guard refuses is for the model to know. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof FleetError)) return error;
  if (error.code === 'INVALID_PARAMS') return new ToolError(error.message);
  if (error.code !== 'FORBIDDEN') return error;
  return new ToolError(
    `${error.message}; an internal agent has to be registered in config.yaml (a2a.agents)`,
  );
}
