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
    readonly body?: string;
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

const LIMITS = { connectMs: 10_000, silenceMs: 300_000 };
const OWN_HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'hermes-fleet' };

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
      return responseOf(incoming, { maxBytes, host: quoted(url.host), signal, raise: plainError });
    } catch (error) {
      throw plainError(error as FleetError);
    }
  };
}

async function send(url: URL, request: OutgoingRequest): Promise<IncomingMessage> {
  try {
    return await sendRequest(url, request);
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
  return {
    url,
    method: request?.method ?? init.method ?? 'GET',
    headers: { ...OWN_HEADERS, ...Object.fromEntries(request?.headers ?? new Headers(init.headers)) },
    body: request === undefined ? (init.body as PlainBody) : new Uint8Array(await request.arrayBuffer()),
    signal: request?.signal ?? init.signal ?? undefined,
    redirect: request?.redirect ?? init.redirect,
  };
}

type PlainBody = string | Uint8Array | undefined;

const isPlainBody = (body: RequestInit['body']): boolean =>
  body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array;
