import type { AgentCard } from '@a2a-js/sdk';
import { FleetError } from '@hermes-fleet/protocol';
import { fetchCard, readAnyCard } from './fetch-card.ts';
import type { CallOptions, PeerEndpoint, TransportDeps } from './transport.ts';

/** An agent as its card presents it. */
export interface DiscoveredAgent {
  readonly card: AgentCard;
  /** Where its JSON-RPC is, as the card says. */
  readonly url: string;
  /** What it speaks there: the newest that is known here. */
  readonly version: NonNullable<PeerEndpoint['version']>;
}

const WELL_KNOWN = '/.well-known/agent-card.json';
const VERSIONS = [
  ['1.0', /^1\.\d/],
  ['0.3', /^0\.3(\.|$)/],
] as const;

/**
 * The agent at a base url (its card below it, else at the well-known path of its origin), or at the url of a card.
 * Throws PEER_REFUSED where there is no card of A2A, or one that offers no JSON-RPC of a version known here,
 * PEER_UNREACHABLE, or the reason of `signal`.
 */
export async function discoverAgent(
  deps: Pick<TransportDeps, 'clock' | 'request'>,
  base: string,
  o: CallOptions,
): Promise<DiscoveredAgent> {
  const [nearest, farthest] = cardUrls(base);
  const card = await fetchCard(deps, nearest, readAnyCard, o).catch((error: unknown) => {
    const isElsewhere = error instanceof FleetError && error.code === 'PEER_REFUSED' && !error.retryable;
    if (!isElsewhere || nearest === farthest) throw error;
    return fetchCard(deps, farthest, readAnyCard, o);
  });
  return agentOf(new URL(base).host, card);
}

function cardUrls(base: string): [nearest: string, farthest: string] {
  const { origin, pathname, href } = new URL(base);
  if (pathname.endsWith('.json')) return [href, href];
  return [`${origin}${pathname.replace(/\/+$/, '')}${WELL_KNOWN}`, `${origin}${WELL_KNOWN}`];
}

function agentOf(host: string, card: AgentCard): DiscoveredAgent {
  const offered = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === 'JSONRPC');
  for (const [version, pattern] of VERSIONS) {
    const found = offered.find(({ protocolVersion }) => pattern.test(protocolVersion));
    if (found) return { card, url: found.url, version };
  }
  throw new FleetError('PEER_REFUSED', `the agent at ${host} offers no JSON-RPC of A2A 1.0 or 0.3`);
}
