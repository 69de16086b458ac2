import { FleetError } from '@hermes-fleet/protocol';
import { createDeadline } from './deadline.ts';
import type { CallOptions, PeerEndpoint, TransportDeps } from './transport.ts';

/** The statuses of a refusal that a later request may not have: the request took too long, or there were too many. */
const ASK_AGAIN: ReadonlySet<number> = new Set([408, 429]);

/**
 * Implements A2AClient.file. Redirects are not followed, because of the token, and an address elsewhere is refused before
 * any request.
 */
export async function fetchFile(
  deps: Pick<TransportDeps, 'clock' | 'request' | 'fetch' | 'tlsKeys'>,
  peer: PeerEndpoint,
  url: string,
  { timeoutMs, signal, traceparent, maxBytes }: CallOptions & { readonly maxBytes: number },
): Promise<Buffer> {
  if (!isAtPeer(peer, url))
    throw new FleetError('PEER_REFUSED', `peer "${peer.name}" refers to a file that it does not serve`);
  const method = 'GET';
  const called = { ...peer, method, tlsKeys: deps.tlsKeys };
  using deadline = createDeadline(deps.clock, called, timeoutMs, signal);
  return await deadline.during(async () => {
    const headers = {
      ...(peer.token === undefined ? {} : { authorization: `Bearer ${peer.token}` }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const init = { method, headers, signal: deadline.signal } as const;
    const response = await (deps.request ?? deps.fetch)(url, init);
    if (response.status !== 200) {
      await response.body?.cancel();
      const message = `peer "${peer.name}" did not serve a file (HTTP ${response.status})`;
      if (response.status >= 500) throw new FleetError('PEER_UNREACHABLE', message);
      throw new FleetError('PEER_REFUSED', message, { retryable: ASK_AGAIN.has(response.status) });
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes)
        throw new FleetError(
          'ARTIFACT_TOO_LARGE',
          `peer "${peer.name}" serves a file of more than ${maxBytes} bytes`,
        );
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  });
}

/** True for the address of a file beside the peer's JSON-RPC URL: the peer may get its token there. */
export function isAtPeer(peer: PeerEndpoint, url: string): boolean {
  return URL.canParse(url) && new URL(url).origin === new URL(peer.url).origin;
}
