const RPC_PATH = /\/(?:jsonrpc\/?)?$/;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The one form of a peer's A2A address: with and without `/jsonrpc` mean the same (design 2, fleet.yaml). Query and
 * fragment are dropped. Throws TypeError for what is not a URL; the schemas check that first.
 */
export function normalizePeerUrl(url: string): string {
  const parsed = new URL(url);
  const base = parsed.pathname.replace(RPC_PATH, '');
  return `${parsed.protocol}//${parsed.host}${base}/jsonrpc`;
}

/**
 * A configured address with the path that an agent card names. The host stays the configured one, which a token was
 * given for; a card that names another port means another listener, and changes nothing.
 */
export function withAdvertisedPath(configured: string, advertised: string): string {
  const [ours, theirs] = [new URL(configured), new URL(advertised)];
  if (ours.protocol !== theirs.protocol || ours.port !== theirs.port) return configured;
  return `${ours.origin}${theirs.pathname}${theirs.search}`;
}

/** Whether two addresses name the same peer; the names of this machine's loopback count as one. */
export function samePeerUrl(a: string, b: string): boolean {
  return peerUrlKey(a) === peerUrlKey(b);
}

/** An address in the form in which two that name the same peer are equal. */
export function peerUrlKey(url: string): string {
  const parsed = new URL(normalizePeerUrl(url));
  if (LOOPBACK.has(parsed.hostname)) parsed.hostname = '127.0.0.1';
  return parsed.href;
}

/** The address of a listener, as somebody dials it; an IPv6 host may come with or without brackets. */
export function listenerUrl(host: string, port: number): string {
  const name = host.includes(':') ? `[${host.replace(/[[\]]/g, '')}]` : host;
  return `http://${name}:${port}/jsonrpc`;
}

/** Whether a host only this machine can reach. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
