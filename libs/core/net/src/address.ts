import { BlockList, isIP } from 'node:net';

/** The non-public networks: IPv4 (IANA special-purpose registry, and a cloud's 168.63.129.16), IPv6 below. */
const INTERNAL = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  INTERNAL.addSubnet(net, prefix, 'ipv4');

/** The global unicast addresses of IPv6; the exceptions, with Teredo and 6to4, are in INTERNAL. */
const GLOBAL_UNICAST = new BlockList();
GLOBAL_UNICAST.addSubnet('2000::', 3, 'ipv6');
for (const [net, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  INTERNAL.addSubnet(net, prefix, 'ipv6');

/** The prefixes of IPv4-mapped addresses (RFC 4291) and of NAT64 (RFC 6052). */
const MAPPED = [0, 0, 0, 0, 0, 0xffff];
const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0];

/**
 * True for an IP address of this machine or of a private network, and for text that is not an address. An IPv6 address
 * that embeds an IPv4 address counts as that address.
 */
export function isInternalAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 4) return INTERNAL.check(bare, 'ipv4');
  if (family === 0) return true;
  const embedded = embeddedIPv4(groupsOf(bare));
  if (embedded !== undefined) return INTERNAL.check(embedded, 'ipv4');
  return !GLOBAL_UNICAST.check(bare, 'ipv6') || INTERNAL.check(bare, 'ipv6');
}

function embeddedIPv4(groups: readonly number[]): string | undefined {
  const startsWith = (prefix: readonly number[]): boolean =>
    prefix.every((group, at) => groups[at] === group);
  if (!startsWith(MAPPED) && !startsWith(NAT64)) return undefined;
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const first = groupsIn(head);
  if (tail === undefined) return first;
  const last = groupsIn(tail);
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

function groupsIn(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
