import { isLoopback, normalizePeerUrl } from './peer-url.ts';

/** An address that workers may join from, taken apart: scheme, host and path exactly, `*` for one label or the port. */
interface EndpointPattern {
  readonly scheme: string;
  readonly host: string;
  /** `*` for any, else the number. */
  readonly port: string;
  readonly path: string;
}

const PATTERN = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9*][a-z0-9_.*-]*)(?::(\*|\d{1,5}))?(\/[\w./~-]*)?$/i;
const LABEL = /^(?:\*|[a-z0-9]|[a-z0-9][a-z0-9_-]*[a-z0-9])$/;
const OCTET = /^\d{1,3}$/;
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: '80', https: '443' };

/**
 * What is wrong with a pattern of `fleet.join.endpoints`; undefined when it is one. A host without `*` must be written
 * as it is compared, so that nobody allows another address than he reads.
 */
export function endpointPatternProblem(text: string): string | undefined {
  const pattern = parsePattern(text);
  if (!pattern)
    return 'must be an address without user, query and fragment, in which "*" may stand for one label of the host or for the port, e.g. "http://*.workers.internal:9230" or "http://127.0.0.1:*"';
  if (pattern.port !== '*' && (Number(pattern.port) < 1 || Number(pattern.port) > 65_535))
    return 'has a port that is none: use one from 1 to 65535, or "*"';
  const canonical = canonicalHost(pattern.host);
  if (canonical === undefined) return `has a host that is none: ${pattern.host}`;
  if (canonical !== pattern.host) return `has a host that is compared as ${canonical}: write it like that`;
  return undefined;
}

/**
 * The A2A address of an endpoint that a pattern allows, undefined otherwise. Scheme, host, port and path must match
 * exactly; user, password, query and fragment are never allowed. A `*` stands for one label of a name or one number of
 * an IPv4 address, never for loopback, which has to be named (design 2, SESSION_ANNOUNCE).
 */
export function allowedEndpoint(endpoint: string, patterns: readonly string[]): string | undefined {
  if (!URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  // A URL parser drops an empty "?", "#" or "@"; the text is looked at, so that what is logged is what is meant.
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

/** Whether these labels are an IPv4 address or a pattern of some, so that `10.0.0.*` allows no name like 10.0.0.com. */
function isAddress(labels: readonly string[]): boolean {
  return labels.length === 4 && labels.some((each) => OCTET.test(each)) && labels.every(isOctetOrStar);
}

const isOctetOrStar = (label: string): boolean => label === '*' || OCTET.test(label);

/** The host as a URL has it; a pattern with `*` label by label. */
function canonicalHost(host: string): string | undefined {
  if (host.includes('*')) return host.split('.').every((label) => LABEL.test(label)) ? host : undefined;
  const address = `http://${host}`;
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}
