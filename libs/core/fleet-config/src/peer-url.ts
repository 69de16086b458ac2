const RPC_PATH = /\/(?:jsonrpc\/?)?$/;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Normalizes a peer's A2A address: an address without `/jsonrpc` equals the one with it, and query and fragment are
 * dropped. Throws TypeError for an invalid URL; the schemas check that first.
 */
export function normalizePeerUrl(url: string): string {
  const parsed = new URL(url);
  const base = parsed.pathname.replace(RPC_PATH, '');
  return `${parsed.protocol}//${parsed.host}${base}/jsonrpc`;
}

/**
 * Returns a configured address with the path of the URL in an agent card. The host stays the configured one, for which
 * the token is. A URL with another port is another listener, and is ignored.
 */
export function withAdvertisedPath(configured: string, advertised: string): string {
  const [ours, theirs] = [new URL(configured), new URL(advertised)];
  if (ours.protocol !== theirs.protocol || ours.port !== theirs.port) return configured;
  return `${ours.origin}${theirs.pathname}${theirs.search}`;
}

/** Compares two addresses. All loopback names are one host. */
export function samePeerUrl(a: string, b: string): boolean {
  return peerUrlKey(a) === peerUrlKey(b);
}

/** The comparable form of an address: equal for two addresses of one peer. */
export function peerUrlKey(url: string): string {
  const parsed = new URL(normalizePeerUrl(url));
  if (LOOPBACK.has(parsed.hostname)) parsed.hostname = '127.0.0.1';
  return parsed.href;
}

/** The URL of a listener. An IPv6 host may have brackets or not. */
export function listenerUrl(
  { bind_port: port, tls }: { readonly bind_port: number; readonly tls?: unknown },
  host: string,
): string {
  const name = host.includes(':') ? `[${host.replace(/[[\]]/g, '')}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}/jsonrpc`;
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
