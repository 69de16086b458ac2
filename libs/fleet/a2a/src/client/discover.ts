import type { AgentCard } from '@a2a-js/sdk';
import { FleetError } from '@hermes-fleet/protocol';
import { fetchCard, readAnyCard } from './fetch-card.ts';
import type { CallOptions, PeerEndpoint, TransportDeps } from './transport.ts';

export interface DiscoveredAgent {
  readonly card: AgentCard;
  /** The JSON-RPC URL in the card. */
  readonly url: string;
  /** The newest A2A version that both sides speak at that URL. */
  readonly version: NonNullable<PeerEndpoint['version']>;
}

const WELL_KNOWN = '/.well-known/agent-card.json';
const VERSIONS = [
  ['1.0', /^1\.\d/],
  ['0.3', /^0\.3(\.|$)/],
] as const;

/**
 * Finds the agent at a base URL (its card below that URL, or else at the well-known path of the origin), or at the URL
 * of a card. Throws PEER_REFUSED without an A2A card or without JSON-RPC of A2A 1.0 or 0.3, PEER_UNREACHABLE, or the
 * reason of `signal`.
 */
export async function discoverAgent(
  deps: Pick<TransportDeps, 'clock' | 'request' | 'fetch' | 'tlsKeys'>,
  base: string,
  options: CallOptions,
): Promise<DiscoveredAgent> {
  const [nearest, farthest] = cardUrls(base);
  const card = await fetchCard(deps, nearest, readAnyCard, options).catch((error: unknown) => {
    const isElsewhere = error instanceof FleetError && error.code === 'PEER_REFUSED' && !error.retryable;
    if (!isElsewhere || nearest === farthest) throw error;
    return fetchCard(deps, farthest, readAnyCard, options);
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
