import type { IncomingMessage } from 'node:http';
import { type Clock, FleetError } from '@hermes-fleet/protocol';
import { ACCEPT_ENCODING, boundedBody } from './bounded-body.ts';
import { addressesOf, type DestinationRules, parseDestination, quoted } from './destination.ts';
import { pinnedRequest } from './pinned-request.ts';

export interface GuardedFetchOptions extends DestinationRules {
  readonly method?: 'GET' | 'POST';
  /** Only those that a client of web pages and of A2A needs. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of the answer's body, before and after decompression. */
  readonly maxBytes: number;
  /** For all of it, redirects and body included; without it `signal` alone ends it. */
  readonly timeoutMs?: number;
  /** Up to 5 of a GET are followed; what is not followed is the answer. Default 5. */
  readonly maxRedirects?: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** An answer, and the url that gave it. Its body is to be read to its end, or cancelled. */
export interface Fetched {
  readonly url: string;
  readonly response: Response;
}

export const MAX_REDIRECTS = 5;
const HEADERS = new Set([
  ...['accept', 'accept-language', 'authorization', 'content-type', 'traceparent', 'user-agent'],
  ...['a2a-version', 'a2a-extensions'],
]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * A request to an address that somebody named whom nobody vouches for, as a model does. Only http and https; every
 * address of the host is checked, and the connection goes to a checked one and no other; each redirect is checked
 * again, and no credentials go on to another origin. Throws INVALID_PARAMS or FORBIDDEN for what is not asked,
 * PEER_UNREACHABLE for what the network does, PEER_REFUSED for an answer that is none, and the reason of `signal`.
 */
export async function guardedFetch(address: string, o: GuardedFetchOptions): Promise<Fetched> {
  const deadline = startDeadline(o);
  try {
    const { url, answer } = await follow(address, o, deadline.signal);
    return { url: url.href, response: responseOf(answer, url, o, deadline) };
  } catch (thrown) {
    deadline[Symbol.dispose]();
    if (deadline.signal.aborted) throw deadline.signal.reason;
    throw thrown;
  }
}

async function follow(address: string, o: GuardedFetchOptions, signal: AbortSignal) {
  const { method = 'GET', maxRedirects = MAX_REDIRECTS } = o;
  let headers = checkedHeaders(o.headers ?? {});
  let url = parseDestination(address);
  for (let hops = 0; ; hops += 1) {
    const addresses = await orAborted(addressesOf(url, o), signal);
    const answer = await ask(url, { method, headers, body: o.body, signal, addresses });
    const location = REDIRECTS.has(answer.statusCode ?? 0) ? answer.headers.location : undefined;
    if (location === undefined || method !== 'GET' || maxRedirects === 0) return { url, answer };
    answer.destroy();
    if (hops >= Math.min(maxRedirects, MAX_REDIRECTS))
      throw new FleetError('PEER_REFUSED', `${quoted(url.host)} redirects too often`);
    const next = parseDestination(location, url);
    if (next.origin !== url.origin) headers = withoutCredentials(headers);
    url = next;
  }
}

async function ask(url: URL, o: Parameters<typeof pinnedRequest>[1]): Promise<IncomingMessage> {
  try {
    return await pinnedRequest(url, o);
  } catch (cause) {
    o.signal.throwIfAborted();
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'connection failed';
    throw new FleetError('PEER_UNREACHABLE', `${quoted(url.host)} cannot be reached: ${code}`, { cause });
  }
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = { 'accept-encoding': ACCEPT_ENCODING };
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADERS.has(name.toLowerCase()))
      throw new FleetError('INVALID_PARAMS', `the header ${quoted(name)} is not sent`);
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

function responseOf(answer: IncomingMessage, url: URL, o: GuardedFetchOptions, deadline: Deadline): Response {
  const status = answer.statusCode ?? 0;
  const host = quoted(url.host);
  if (status < 200 || status > 599) {
    answer.destroy();
    throw new FleetError('PEER_REFUSED', `${host} answered with HTTP ${status}, which is no status`);
  }
  const headers = headersOf(answer, host);
  const onEnd = (): void => deadline[Symbol.dispose]();
  if (WITHOUT_BODY.has(status)) {
    answer.destroy();
    onEnd();
    return new Response(null, { status, headers });
  }
  const body = boundedBody(answer, { maxBytes: o.maxBytes, host, signal: deadline.signal, onEnd });
  return new Response(body, { status, headers });
}

function headersOf(answer: IncomingMessage, host: string): Headers {
  const headers = new Headers();
  try {
    for (const [name, value] of Object.entries(answer.headers))
      for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  } catch (cause) {
    answer.destroy();
    throw new FleetError('PEER_REFUSED', `${host} answered with a header that is none`, { cause });
  }
  return headers;
}

interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

function startDeadline({ clock, signal, timeoutMs }: GuardedFetchOptions): Deadline {
  signal.throwIfAborted();
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const timer =
    timeoutMs === undefined
      ? undefined
      : clock.timer(() => {
          controller.abort(new FleetError('PEER_UNREACHABLE', `no answer within ${timeoutMs} ms`));
        }, timeoutMs);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      signal.removeEventListener('abort', onAbort);
    },
  };
}

/** A look-up cannot be called back: it is left to itself. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
