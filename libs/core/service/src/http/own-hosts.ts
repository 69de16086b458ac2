import type { IncomingMessage } from 'node:http';
import { FleetError } from '@hermes-fleet/protocol';

const HOST = /^(\[[\da-f:.]+\]|[^\s:/?#@\\[\]]+)(?::\d{0,5})?$/i;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Recognizes web pages that use a visitor's browser to reach this service (docs/peering.md#hosts). A page whose name was
 * rebound to this address sends its own name as Host, and a page of another site sends its own Origin. The service's own
 * hosts are loopback, the address that the connection arrived at, and `names`; ports don't matter. Clients that are not
 * browsers send no Origin. The error of such a request is FORBIDDEN; all others have none.
 */
export function createForeignRequest(names: readonly string[]) {
  const own = new Set(names.map(hostnameOf));
  const isOwn = (host: string, request: IncomingMessage): boolean => {
    const name = hostnameOf(host);
    if (name === undefined) return false;
    return LOOPBACK.test(name) || own.has(name) || name === localAddress(request);
  };
  return (request: IncomingMessage): FleetError | undefined => {
    const { host, origin } = request.headers;
    if (host !== undefined && !isOwn(host, request)) return refusal('Host', host);
    if (origin !== undefined && !isOwn(hostOf(origin), request)) return refusal('Origin', origin);
    return undefined;
  };
}

const refusal = (header: string, value: string): FleetError =>
  new FleetError(
    'FORBIDDEN',
    `the ${header} header names ${JSON.stringify(value.slice(0, 100))}, which is not a host of this service; ` +
      'use its own address, or add the host to fleet.server.allowed_hosts',
  );

/** The host of an origin; empty for an opaque one (`null`) and for one that is not of a web page. */
function hostOf(origin: string): string {
  if (!URL.canParse(origin)) return '';
  const { protocol, host } = new URL(origin);
  return protocol === 'http:' || protocol === 'https:' ? host : '';
}

/** The normalized host without its port; an IPv6 address may lack its brackets. */
function hostnameOf(host: string): string | undefined {
  const isBareIpv6 = host.split(':').length > 2 && !host.startsWith('[');
  const name = isBareIpv6 ? `[${host}]` : HOST.exec(host)?.[1];
  const url = `http://${name}`;
  if (name === undefined || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/\.$/, '');
}

function localAddress({ socket }: IncomingMessage): string | undefined {
  const address = socket.localAddress?.replace(/^::ffff:/i, '').replace(/%.*$/, '');
  return address === undefined ? undefined : hostnameOf(address);
}
