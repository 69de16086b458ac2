import { isLoopback, normalizePeerUrl } from './peer-url.ts';

/** A parsed pattern of `fleet.join.endpoints`. `*` stands for one label of the host or for the port. */
interface EndpointPattern {
  readonly scheme: string;
  readonly host: string;
  /** A number, or `*` for any. */
  readonly port: string;
  readonly path: string;
}

const PATTERN = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9*][a-z0-9_.*-]*)(?::(\*|\d{1,5}))?(\/[\w./~-]*)?$/i;
const LABEL = /^(?:\*|[a-z0-9]|[a-z0-9][a-z0-9_-]*[a-z0-9])$/;
const OCTET = /^\d{1,3}$/;
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: '80', https: '443' };

/**
 * Describes the problem of an invalid pattern of `fleet.join.endpoints`; undefined if the pattern is valid. A host without
 * `*` must have its canonical form, so that the pattern allows exactly the address that it shows.
 */
export function endpointPatternProblem(text: string): string | undefined {
  const pattern = parsePattern(text);
  if (!pattern)
    return 'must be an address without user, query and fragment, in which "*" may stand for one label of the host or for the port, e.g. "http://*.workers.internal:9230" or "http://127.0.0.1:*"';
  if (pattern.port !== '*' && (Number(pattern.port) < 1 || Number(pattern.port) > 65_535))
    return 'has an invalid port: use one from 1 to 65535, or "*"';
  const canonical = canonicalHost(pattern.host);
  if (canonical === undefined) return `has an invalid host: ${pattern.host}`;
  if (canonical !== pattern.host) return `has a host that is compared as ${canonical}: write it like that`;
  return undefined;
}

/**
 * Returns the A2A address of an endpoint that a pattern allows, else undefined (docs/peering.md#joining-without-a-join-token).
 * Scheme, host, port and path must match exactly; user, password, query and fragment are never allowed. `*` stands for one
 * label of a name or one number of an IPv4 address. It never stands for loopback, which a pattern must name.
 */
export function allowedEndpoint(endpoint: string, patterns: readonly string[]): string | undefined {
  if (!URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  // The URL parser drops an empty "?", "#" or "@". Check the text, so that the logged address is the real one.
  if (url.username !== '' || url.password !== '' || /[?#@\\\s]/.test(endpoint)) return undefined;
  const asked = normalizePeerUrl(endpoint);
  const allowed = patterns.some((text) => {
    const pattern = parsePattern(text);
    return pattern !== undefined && matches(pattern, url, asked);
  });
  return allowed ? asked : undefined;
}

function parsePattern(text: string): EndpointPattern | undefined {
  const found = PATTERN.exec(text);
  if (!found) return undefined;
  const [, scheme = '', host = '', port, path = ''] = found;
  const lower = scheme.toLowerCase();
  return { scheme: lower, host: host.toLowerCase(), port: port ?? DEFAULT_PORT[lower] ?? '', path };
}

function matches(pattern: EndpointPattern, url: URL, asked: string): boolean {
  const scheme = url.protocol.slice(0, -1);
  const port = url.port === '' ? DEFAULT_PORT[scheme] : url.port;
  if (scheme !== pattern.scheme || (pattern.port !== '*' && pattern.port !== port)) return false;
  if (new URL(asked).pathname !== new URL(normalizePeerUrl(`http://h${pattern.path}`)).pathname) return false;
  return hostMatches(pattern.host, url.hostname);
}

function hostMatches(pattern: string, host: string): boolean {
  if (!pattern.includes('*')) return host === pattern;
  if (host.startsWith('[') || isOwnMachine(host) !== isOwnMachine(pattern.replaceAll('*', '1'))) return false;
  const wanted = pattern.split('.');
  const labels = host.split('.');
  if (labels.length !== wanted.length || isAddress(labels) !== isAddress(wanted)) return false;
  return labels.every((label, at) => label !== '' && (wanted[at] === '*' || wanted[at] === label));
}

const isOwnMachine = (host: string): boolean =>
  isLoopback(host) || host.endsWith('.localhost') || host === '0.0.0.0';

/** True for an IPv4 address or a pattern of one, so that `10.0.0.*` does not allow the name 10.0.0.com. */
function isAddress(labels: readonly string[]): boolean {
  return labels.length === 4 && labels.some((each) => OCTET.test(each)) && labels.every(isOctetOrStar);
}

const isOctetOrStar = (label: string): boolean => label === '*' || OCTET.test(label);

/** The host in the form of a URL; a host with `*` is only validated, label by label. */
function canonicalHost(host: string): string | undefined {
  if (host.includes('*')) return host.split('.').every((label) => LABEL.test(label)) ? host : undefined;
  const address = `http://${host}`;
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}
