import type { IncomingMessage } from 'node:http';
import type { FleetError } from '@hermes-fleet/protocol';
import { agentsFor, type ClientTls, KEPT } from './agents.ts';
import { quoted } from './destination.ts';
import { RedirectError, redirectOf } from './redirect.ts';
import { responseOf } from './response.ts';
import { type OutgoingRequest, sendRequest } from './send-request.ts';

export interface ConfiguredOptions {
  /** The issuers to trust and the certificate to show, for https; default: what Node trusts, and none. */
  readonly tls?: ClientTls;
  /**
   * `refused`, the default: a redirect is a RedirectError. `returned`: it is an answer, as with `redirect: 'manual'` of a
   * request, for users that have their own words for it.
   */
  readonly redirects?: 'refused' | 'returned';
  /** The limits of a connection: 10 s to open it, and 300 s without a byte, before the answer and within it. */
  readonly connectMs?: number;
  readonly silenceMs?: number;
  /** The limit of a body, before and after decompression. Default: none, for streams, whose readers have their own. */
  readonly maxBytes?: number;
}

/** Part of `fetch`: what clients of the fleet's own services need. */
export type TlsFetch = (
  url: string,
  init: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Blob;
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

const LIMITS = { connectMs: 10_000, silenceMs: 300_000 };
const OWN_HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'hermes-fleet' };
const METHODS_REFUSED = new Set(['CONNECT', 'TRACE', 'TRACK']);
/** The client's own: the address of the request, and what its connection is used for. */
const HEADERS_REFUSED = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);

/** True for a header that the client sets, so that a request with it is refused. */
export const isClientHeader = (name: string): boolean => HEADERS_REFUSED.has(name.toLowerCase());

/** As `createClient('configured')` promises. */
export function configuredFetch(options: ConfiguredOptions): typeof fetch {
  const { tls, redirects = 'refused', maxBytes, ...given } = options;
  const limits = { ...LIMITS, ...given };
  const agentOf = agentsFor(tls, KEPT);
  return async (input, init) => {
    const { url, redirect, ...request } = await requestOf(input, init);
    const { signal } = request;
    signal?.throwIfAborted();
    const agent = agentOf(url.protocol === 'https:');
    const incoming = await send(url, { ...request, agent, limits });
    const location = redirect === 'manual' || redirects === 'returned' ? undefined : redirectOf(incoming);
    if (location !== undefined) {
      incoming.destroy();
      throw new RedirectError(incoming.statusCode ?? 0, url, location);
    }
    try {
      return responseOf(incoming, url, { maxBytes, signal, raise: plainError });
    } catch (error) {
      throw plainError(error as FleetError);
    }
  };
}

async function send(url: URL, request: OutgoingRequest): Promise<IncomingMessage> {
  // It throws at once for a wrong request, which must not look like a fault of the network.
  const answer = sendRequest(url, request);
  try {
    return await answer;
  } catch (cause) {
    request.signal?.throwIfAborted();
    // The words by which users of `fetch` know that a request got no answer.
    throw new TypeError('fetch failed', { cause });
  }
}

/** An error in the form of `fetch`: users give it a code of their own, and find that of the network in its cause. */
const plainError = ({ message, cause }: FleetError): TypeError => new TypeError(message, { cause });

type Input = Parameters<typeof fetch>[0];

async function requestOf(input: Input, init: RequestInit = {}) {
  const isPlain = !(input instanceof Request) && isPlainBody(init.body);
  const request = isPlain ? undefined : new Request(input, init);
  const url = new URL(request?.url ?? String(input));
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`${quoted(url.protocol)} is not requested: only http and https are`);
  if (url.username !== '' || url.password !== '')
    throw new TypeError(`the address at ${quoted(url.host)} holds credentials: send them in a header`);
  const method = request?.method ?? init.method?.toUpperCase() ?? 'GET';
  const body = request === undefined ? ((init.body as PlainBody | null) ?? undefined) : await bodyOf(request);
  const given = {
    ...(body instanceof Blob && body.type !== '' && { 'content-type': body.type }),
    ...Object.fromEntries(request?.headers ?? new Headers(init.headers)),
  };
  refuseAmbiguous(method, given, body);
  return {
    url,
    method,
    headers: { ...OWN_HEADERS, ...given },
    body,
    signal: request?.signal ?? init.signal ?? undefined,
    redirect: request?.redirect ?? init.redirect,
  };
}

type PlainBody = string | Uint8Array | Blob | undefined;

async function bodyOf(request: Request): Promise<PlainBody> {
  return request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
}

/** Throws a TypeError for what would leave it open where a request, or its answer, ends on the connection. */
function refuseAmbiguous(method: string, headers: Readonly<Record<string, string>>, body: PlainBody): void {
  if (METHODS_REFUSED.has(method)) throw new TypeError(`${method} is not requested`);
  if (body !== undefined && (method === 'GET' || method === 'HEAD'))
    throw new TypeError(`a request with the method ${method} has no body`);
  const refused = Object.keys(headers).find(isClientHeader);
  if (refused !== undefined) throw new TypeError(`the header ${refused} is set by the client: leave it out`);
}

const isPlainBody = (body: RequestInit['body']): boolean =>
  body === undefined ||
  body === null ||
  typeof body === 'string' ||
  body instanceof Uint8Array ||
  body instanceof Blob;
