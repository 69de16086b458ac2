import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { parseJson } from '@hermes-fleet/protocol';

export const LIMITS = {
  connections: 64,
  /** Connections without a request with the key, which any process of this machine may open. */
  unauthenticated: 16,
  /** For a whole request to arrive. */
  requestMs: 60_000,
  requestBytes: 64 * 1024 * 1024,
  /** The levels of arrays and objects of a request: schemas of tools and arguments of models have many more than messages. */
  nesting: 500,
  refusalChars: 64 * 1024,
};

const PATHS: ReadonlySet<string> = new Set(['/v1/messages', '/v1/messages/count_tokens']);

/** The API path of a request with the right secret and key; undefined for any other request. */
export function authorizedPath(request: IncomingMessage, secret: string, key: string): string | undefined {
  const pathname = URL.parse(request.url ?? '/', 'http://127.0.0.1')?.pathname ?? '/';
  const [, first = '', ...rest] = pathname.split('/');
  const path = `/${rest.join('/')}`;
  const { authorization } = request.headers;
  const given = request.headers['x-api-key'] ?? authorization?.replace(/^Bearer /, '') ?? '';
  const isAuthorized = isSame(first, secret) && isSame(String(given), key);
  return isAuthorized && request.method === 'POST' && PATHS.has(path) ? path : undefined;
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A request's JSON; undefined when it is too long, null when it is not JSON. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > LIMITS.requestBytes) return undefined;
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString('utf8')) ?? null;
}

/** Sends an error in the form of the Messages API that clients do not retry. */
export function sendError(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false' });
  response.end(JSON.stringify({ type: 'error', error: { type, message } }));
}

const REQUEST_HEADERS = [
  'content-type',
  'accept',
  'user-agent',
  'anthropic-version',
  'anthropic-beta',
  'x-app',
];

/** The headers that are relayed to the provider. */
export function requestHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = REQUEST_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  return { ...Object.fromEntries(kept), 'accept-encoding': 'identity' };
}

const RESPONSE_HEADERS =
  /^(content-type|request-id|retry-after(-ms)?|x-should-retry|anthropic-ratelimit-.*)$/;

/** The headers that are relayed to the caller. */
export const responseHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => RESPONSE_HEADERS.test(name)));

/** Relays a refusal, but answers 402 for a rejected key: Claude Code would retry a 401 for minutes. */
export async function relayRefusal(answer: Response, response: ServerResponse): Promise<void> {
  const { status } = answer;
  const text = (await answer.text()).slice(0, LIMITS.refusalChars);
  if (status === 401 || status === 403 || status < 400)
    return sendError(response, 402, 'billing_error', `the provider answered ${status}`);
  response.writeHead(status, responseHeaders(answer.headers));
  response.end(text);
}
