import { type A2AClient, type AgentCard, jsonRpcUrl } from '@hermes-fleet/a2a';
import { FleetError, HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import type { PeerCard } from '../peer-profile.ts';

const EXTENSION = HANDSHAKE_EXTENSION.replace(/\d+$/, '');
const VERSION = /^\d{1,9}\.\d{1,9}$/;
/** The largest number of versions that are read from one card. */
const MAX_VERSIONS = 64;

/** Reads the handshake declarations of an agent card. An unsupported major version counts as a declared handshake. */
export function declaredHandshake(card: AgentCard): Pick<PeerCard, 'handshake' | 'versions'> {
  const declared = (card.capabilities?.extensions ?? []).flatMap(({ uri, params }) => {
    const major = uri.startsWith(EXTENSION) ? uri.slice(EXTENSION.length) : '';
    return /^\d{1,9}$/.test(major) ? [{ uri, major, named: params?.protocol_versions }] : [];
  });
  const versions = declared.flatMap(({ uri, major, named }) => {
    const listed = Array.isArray(named)
      ? named.filter((each): each is string => typeof each === 'string' && VERSION.test(each))
      : [];
    return listed.length > 0 || uri === HANDSHAKE_EXTENSION ? listed : [`${major}.0`];
  });
  return { handshake: declared.length > 0, versions: [...new Set(versions)].slice(0, MAX_VERSIONS) };
}

/**
 * Reads a peer's agent card; undefined if the answer is not a card (404, invalid JSON), which proves nothing about the
 * peer. Throws PEER_UNREACHABLE without an answer, PEER_REFUSED if the peer asks for a retry (503, 429), or the signal's
 * reason.
 */
export async function readCard(
  client: Pick<A2AClient, 'card'>,
  url: string,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Omit<PeerCard, 'readAt'> | undefined> {
  try {
    const card = await client.card(url, options);
    return { ...declaredHandshake(card), rpcUrl: jsonRpcUrl(card) };
  } catch (error) {
    if (error instanceof FleetError && error.code === 'PEER_REFUSED' && !error.retryable) return undefined;
    throw error;
  }
}
