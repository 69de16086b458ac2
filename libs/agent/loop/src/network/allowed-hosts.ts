import { isIP } from 'node:net';

/** The hosts that commands may reach (`tools.shell.network`). */
export interface AllowedHosts {
  /** `host`, `host:port`, `*.domain` or `*.domain:port`. Without a port, 443 and 80 are meant. */
  readonly allow: readonly string[];
  /** The same, for hosts that may have an address of this machine or of a private network. */
  readonly allowInternal: readonly string[];
}

/** The host and port that a client asks the proxy to connect to. */
export interface Target {
  /** As a URL has it: lower case, IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
}

interface Rule {
  readonly host: string;
  readonly wildcard: boolean;
  readonly ports: readonly number[];
}

const WEB_PORTS = [443, 80];
const RULE = /^(\*\.)?(\[[^\]]+\]|[^:/?#@\s*[\]]+)(?::(\d{1,5}))?$/;

/** Undefined for an entry that is no host. */
export function parseRule(entry: string): Rule | undefined {
  const [, wildcard, name = '', port] = RULE.exec(entry) ?? [];
  const target = parseTarget(`${name}:${port ?? 443}`);
  if (target === undefined || (wildcard !== undefined && isAddress(target.host))) return undefined;
  const ports = port === undefined ? WEB_PORTS : [target.port];
  return { host: target.host, wildcard: wildcard !== undefined, ports };
}

/** Reads `host:port`; undefined for anything else. Every notation of an IPv4 address becomes the usual one. */
export function parseTarget(authority: string): Target | undefined {
  const [, host = '', port] = /^(\[[^\]]+\]|[^:/?#@\s[\]]+):(\d{1,5})$/.exec(authority) ?? [];
  const parsed = URL.parse(`http://${host}/`);
  const number = Number(port);
  if (parsed === null || parsed.hostname === '' || !(number >= 1 && number <= 65_535)) return undefined;
  return { host: parsed.hostname.replace(/\.$/, ''), port: number };
}

export const isAddress = (host: string): boolean => isIP(host.replace(/^\[|\]$/g, '')) !== 0;

/** Tells whether an entry names a target, and whether the target may be internal. */
export function matchHosts({ allow, allowInternal }: AllowedHosts) {
  const [named, internal] = [rulesOf(allow), rulesOf(allowInternal)];
  return (target: Target): 'public' | 'internal' | undefined => {
    if (internal.some((rule) => matches(rule, target))) return 'internal';
    return named.some((rule) => matches(rule, target)) ? 'public' : undefined;
  };
}

const rulesOf = (entries: readonly string[]): Rule[] => entries.flatMap((entry) => parseRule(entry) ?? []);

const matches = ({ host, wildcard, ports }: Rule, target: Target): boolean =>
  ports.includes(target.port) && (wildcard ? target.host.endsWith(`.${host}`) : target.host === host);
