import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { FleetError } from '@hermes-fleet/protocol';
import { isInternalAddress } from './address.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly Address[]>;

/** Whom a request may go to. */
export interface DestinationRules {
  /** Hosts that may be internal: `host` or `host:port`. */
  readonly allowInternal?: readonly string[] | undefined;
  /** The system's resolver when absent. */
  readonly resolve?: Resolve | undefined;
}

const MAX_URL = 8192;
/** Codes of a look-up that found nothing, for good; any other may pass. */
const NO_SUCH_HOST = new Set(['ENOTFOUND', 'ENODATA']);

/** A url that may be asked at all. Throws INVALID_PARAMS for one that is none, is not http(s), or holds credentials. */
export function parseDestination(text: string, base?: URL): URL {
  const url = text.length > MAX_URL ? null : URL.parse(text, base?.href);
  if (url === null) throw new FleetError('INVALID_PARAMS', `${quoted(text)} is not a url`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new FleetError('INVALID_PARAMS', `${quoted(url.protocol)} is not fetched: only http and https are`);
  if (url.username !== '' || url.password !== '')
    throw new FleetError('INVALID_PARAMS', `a url of ${quoted(url.host)} holds credentials: leave them out`);
  return url;
}

/**
 * The addresses that a url leads to, every one of them checked: a connection goes to these and to no other. Throws
 * FORBIDDEN where one is internal and its host is not allowed; a host that does not exist looks the same. Throws
 * PEER_UNREACHABLE where the look-up fails for now.
 */
export async function addressesOf(url: URL, { allowInternal = [], resolve }: DestinationRules) {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const addresses = family === 0 ? await found(host, resolve ?? systemResolve) : [{ address: host, family }];
  const isPublic = addresses.length > 0 && !addresses.some(({ address }) => isInternalAddress(address));
  const isFit = isPublic || (addresses.length > 0 && isAllowed(url, allowInternal));
  if (!isFit) throw new FleetError('FORBIDDEN', `${quoted(url.hostname)} has no public address`);
  return addresses;
}

const systemResolve: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' });

async function found(host: string, resolve: Resolve): Promise<readonly Address[]> {
  try {
    return await resolve(host);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (NO_SUCH_HOST.has(code)) return [];
    throw new FleetError('PEER_UNREACHABLE', `${quoted(host)} cannot be looked up now`, { cause });
  }
}

const ENTRY = /^(\[[^\]]+\]|[^:/?#@\s]+)(?::(\d{1,5}))?$/;

function isAllowed(url: URL, entries: readonly string[]): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return entries.some((entry) => {
    const [, host = '', wanted] = ENTRY.exec(entry) ?? [];
    const parsed = URL.parse(`http://${host}/`);
    return parsed?.hostname === url.hostname && (wanted === undefined || Number(wanted) === Number(port));
  });
}

/** A name that somebody else chose, fit for a message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
