import { addAbortListener } from 'node:events';
import { type IncomingMessage, validateHeaderValue } from 'node:http';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { addressesOf, type DestinationRules, parseDestination, quoted } from './destination.ts';
import { redirectOf } from './redirect.ts';
import { ACCEPT_ENCODING, responseOf } from './response.ts';
import { type OutgoingRequest, sendRequest } from './send-request.ts';

/** What the policy `untrusted` needs of its user. */
export interface UntrustedRules extends DestinationRules {
  readonly clock: Clock;
}

export interface UntrustedRequest {
  readonly method?: 'GET' | 'POST';
  /** Only the headers of web and A2A clients, and of webhooks, are allowed. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The limit of the response body, before and after decompression. */
  readonly maxBytes: number;
  /** The limit of the whole exchange with redirects and body, ms. Default: only `signal` ends it. */
  readonly timeoutMs?: number;
  /** For GET, at most 5; 0 returns the redirect itself. Default 5. */
  readonly maxRedirects?: number;
  readonly signal: AbortSignal;
}

export type GuardedFetchOptions = UntrustedRules & UntrustedRequest;

/** A response whose body must be read to its end or canceled. */
export interface Fetched {
  /** The URL after redirects. */
  readonly url: string;
  readonly response: Response;
}

const MAX_REDIRECTS = 5;
const HEADERS = new Set([
  ...['accept', 'accept-language', 'authorization', 'content-type', 'traceparent', 'user-agent'],
  ...['a2a-version', 'a2a-extensions'],
  ...['x-a2a-notification-token', 'webhook-id', 'webhook-timestamp', 'webhook-signature'],
]);

/**
 * Requests a URL from an untrusted source such as a model. Allows only http and https, checks every address of the
 * host, connects only to a checked address, checks every redirect again, and sends no credentials to another origin.
 * Throws INVALID_PARAMS or FORBIDDEN for a request that is not allowed, PEER_UNREACHABLE for a network failure,
 * PEER_REFUSED for an invalid response, and the reason of `signal`.
 */
export async function guardedFetch(address: string, options: GuardedFetchOptions): Promise<Fetched> {
  const deadline = startDeadline(options);
  try {
    const { url, incoming } = await followRedirects(address, options, deadline.signal);
    const { maxBytes } = options;
    const onEnd = (): void => deadline[Symbol.dispose]();
    return {
      url: url.href,
      response: responseOf(incoming, url, { maxBytes, signal: deadline.signal, onEnd }),
    };
  } catch (thrown) {
    deadline[Symbol.dispose]();
    if (deadline.signal.aborted) throw deadline.signal.reason;
    throw thrown;
  }
}

/**
 * Checks an address as `guardedFetch` does, without a request: a later one is checked again. Throws INVALID_PARAMS or
 * FORBIDDEN for an address that is not allowed, PEER_UNREACHABLE if its host cannot be looked up now, and the reason of
 * `signal`.
 */
export async function checkDestination(
  address: string,
  options: UntrustedRules & Pick<UntrustedRequest, 'signal' | 'timeoutMs'>,
): Promise<URL> {
  using deadline = startDeadline(options);
  const url = parseDestination(address);
  await orAborted(addressesOf(url, options), deadline.signal);
  return url;
}

async function followRedirects(address: string, options: GuardedFetchOptions, signal: AbortSignal) {
  const { method = 'GET', maxRedirects = MAX_REDIRECTS, body } = options;
  let headers = checkedHeaders(options.headers ?? {});
  let url = parseDestination(address);
  for (let hops = 0; ; hops += 1) {
    const addresses = await orAborted(addressesOf(url, options), signal);
    const incoming = await send(url, { method, headers, body, signal, addresses });
    const location = redirectOf(incoming);
    if (location === undefined || method !== 'GET' || maxRedirects === 0) return { url, incoming };
    incoming.destroy();
    if (hops >= Math.min(maxRedirects, MAX_REDIRECTS))
      throw new FleetError('PEER_REFUSED', `${quoted(url.host)} redirects too often`);
    const next = parseDestination(location, url);
    if (next.origin !== url.origin) headers = withoutCredentials(headers);
    url = next;
  }
}

async function send(url: URL, request: OutgoingRequest): Promise<IncomingMessage> {
  try {
    return await sendRequest(url, request);
  } catch (cause) {
    request.signal?.throwIfAborted();
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'connection failed';
    throw new FleetError('PEER_UNREACHABLE', `${quoted(url.host)} cannot be reached: ${code}`, { cause });
  }
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = { 'accept-encoding': ACCEPT_ENCODING };
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADERS.has(name.toLowerCase()))
      throw new FleetError('INVALID_PARAMS', `the header ${quoted(name)} is not sent`);
    try {
      validateHeaderValue(name, value);
    } catch (cause) {
      const message = `the value of the header ${quoted(name)} has a character that no header may have`;
      throw new FleetError('INVALID_PARAMS', message, { cause });
    }
    checked[name.toLowerCase()] = value;
  }
  return checked;
}

function withoutCredentials({
  authorization: _secret,
  ...rest
}: Record<string, string>): Record<string, string> {
  return rest;
}

interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

function startDeadline({
  clock,
  signal,
  timeoutMs,
}: Pick<GuardedFetchOptions, 'clock' | 'signal' | 'timeoutMs'>): Deadline {
  signal.throwIfAborted();
  const controller = new AbortController();
  const ends = new DisposableStack();
  ends.use(addAbortListener(signal, () => controller.abort(signal.reason)));
  const late = (): void =>
    controller.abort(new FleetError('PEER_UNREACHABLE', `no answer within ${timeoutMs} ms`));
  if (timeoutMs !== undefined) ends.use(clock.timer(late, timeoutMs));
  return { signal: controller.signal, [Symbol.dispose]: () => ends.dispose() };
}

/** A DNS lookup cannot be canceled: it finishes in the background. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  using _ = addAbortListener(signal, () => aborted.reject(signal.reason));
  return await Promise.race([work, aborted.promise]);
}
