import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { FleetError } from '@hermes-fleet/protocol';
import { isInternalAddress } from './address.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Resolves a host name to all of its addresses. */
export type Resolve = (host: string) => Promise<readonly Address[]>;

export interface DestinationRules {
  /** Internal hosts that are allowed: `host` or `host:port`. */
  readonly allowInternal?: readonly string[] | undefined;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve | undefined;
}

const MAX_URL = 8192;
/** Permanent lookup errors; all others are temporary. */
const NO_SUCH_HOST = new Set(['ENOTFOUND', 'ENODATA']);
/** Names of this machine, whatever a resolver says of them (RFC 6761, section 6.3). */
const LOCALHOST = /(^|\.)localhost\.?$/;

/** Parses a URL. Throws INVALID_PARAMS if it is invalid, is not http(s), or contains credentials. */
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
 * The checked addresses of a URL's host; connections must use no others. Throws FORBIDDEN if one of them is internal
 * and the host is not allowed; a missing host gives the same error, and a localhost name gives it without a lookup. Throws
 * PEER_UNREACHABLE for a temporary lookup failure.
 */
export async function addressesOf(url: URL, { allowInternal = [], resolve }: DestinationRules) {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const mayBeInternal = isAllowed(url, allowInternal);
  const lookUpHost = async () =>
    LOCALHOST.test(host) && !mayBeInternal ? [] : lookUp(host, resolve ?? systemResolve);
  const addresses = family === 0 ? await lookUpHost() : [{ address: host, family }];
  const isPublic = addresses.every(({ address }) => !isInternalAddress(address));
  if (addresses.length === 0 || !(isPublic || mayBeInternal))
    throw new FleetError('FORBIDDEN', `${quoted(url.hostname)} has no public address`);
  return addresses;
}

const systemResolve: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' });

async function lookUp(host: string, resolve: Resolve): Promise<readonly Address[]> {
  try {
    return await resolve(host);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (NO_SUCH_HOST.has(code)) return [];
    throw new FleetError('PEER_UNREACHABLE', `${quoted(host)} cannot be looked up now`, { cause });
  }
}

const ENTRY = /^(\[[^\]]+\]|[^:/?#@\s]+)(?::(\d{1,5}))?$/;

/** The port that an entry of `allowInternal` allows at the URL's host: `any` if it names none; undefined for another host. */
function portIn(entry: string, { hostname }: URL): number | 'any' | undefined {
  const [, host = '', port] = ENTRY.exec(entry) ?? [];
  if (URL.parse(`http://${host}/`)?.hostname !== hostname) return undefined;
  return port === undefined ? 'any' : Number(port);
}

const isAllowed = (url: URL, entries: readonly string[]): boolean =>
  entries.some((entry) => portIn(entry, url) === 'any') || namesPort(url, entries);

/** True when an entry of `allowInternal` names the URL's host with its port. */
export const namesPort = (url: URL, entries: readonly string[]): boolean =>
  entries.some((entry) => portIn(entry, url) === portOf(url));

export const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));

/** A foreign name, quoted and shortened for an error message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
