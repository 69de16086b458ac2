import type { PeerEndpoint } from '@hermes-fleet/a2a';

/**
 * Where a peer is at each use. A worker that joined may come back at another address while it has a task: its container
 * was replaced. Undefined for a peer without an address; one that loses it keeps its last.
 */
export function presentEndpoint(
  peers: { get(name: string): { readonly endpoint: PeerEndpoint | undefined } | undefined },
  peer: string,
): PeerEndpoint | undefined {
  const first = peers.get(peer)?.endpoint;
  if (!first) return undefined;
  let last = first;
  const present = (): PeerEndpoint => {
    last = peers.get(peer)?.endpoint ?? last;
    return last;
  };
  return {
    name: peer,
    get url() {
      return present().url;
    },
    get token() {
      return present().token;
    },
  };
}
