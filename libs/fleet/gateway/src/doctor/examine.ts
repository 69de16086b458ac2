import type { A2AClient, PeerEndpoint } from '@hermes-fleet/a2a';
import { type Credentials, type FleetConfig, normalizePeerUrl } from '@hermes-fleet/fleet-config';
import type { Clock, Ids } from '@hermes-fleet/protocol/ports';
import { examineBus } from './examine-bus.ts';
import { type ExaminedPeer, examinePeer } from './examine-peer.ts';
import type { Finding } from './finding.ts';

export interface ExamineOptions {
  readonly profile: string;
  /** The handshake versions that the profile supports. */
  readonly versions: readonly string[];
  readonly config: FleetConfig;
  readonly credentials: Pick<Credentials, 'peers' | 'bus'>;
  readonly client: Pick<A2AClient, 'card' | 'send'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * The live checks of `fleet doctor`: every configured peer and the event bus, concurrently
 * (docs/operations.md#diagnose-a-profile-fleet-doctor). Spends no tokens, publishes nothing, and ends within about ten
 * seconds.
 */
export async function examineFleet(options: ExamineOptions): Promise<readonly Finding[]> {
  const { profile, config, credentials, clock } = options;
  const { nats } = config.fleet;
  const connection = nats && {
    servers: nats.servers,
    name: `fleet/${profile}/doctor`,
    ...credentials.bus,
    ...(nats.inbox_prefix === undefined ? {} : { inboxPrefix: nats.inbox_prefix }),
  };
  const bus = connection ? examineBus({ profile, connection, clock }) : [];
  const peers = peersOf(options).map((peer) => examinePeer(options, peer));
  return (await Promise.all([...peers, bus])).flat();
}

function peersOf({ config, credentials }: ExamineOptions): ExaminedPeer[] {
  return Object.entries(config.fleet.agents).map(([name, agent]) => {
    const { url = agent.url, token, cardUrl = wellKnownCard(agent.url) } = credentials.peers[name] ?? {};
    const endpoint: PeerEndpoint = { name, url, ...(token === undefined ? {} : { token }) };
    return { endpoint, cardUrl, tokenEnv: agent.token_env };
  });
}

function wellKnownCard(url: string): string {
  return normalizePeerUrl(url).replace(/\/jsonrpc$/, '/.well-known/agent-card.json');
}
