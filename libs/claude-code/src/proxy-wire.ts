import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

export const LIMITS = {
  connections: 64,
  /** For a request to come in whole. */
  requestMs: 60_000,
  requestBytes: 64 * 1024 * 1024,
  refusalChars: 64 * 1024,
};

const PATHS: ReadonlySet<string> = new Set(['/v1/messages', '/v1/messages/count_tokens']);

/** The path of a request by somebody who knows the secret and the key; undefined for anything else. */
export function isAsked(request: IncomingMessage, secret: string, key: string): string | undefined {
  const pathname = URL.parse(request.url ?? '/', 'http://127.0.0.1')?.pathname ?? '/';
  const [, first = '', ...rest] = pathname.split('/');
  const path = `/${rest.join('/')}`;
  const { authorization } = request.headers;
  const shown = request.headers['x-api-key'] ?? authorization?.replace(/^Bearer /, '') ?? '';
  const known = isSame(first, secret) && isSame(String(shown), key);
  return known && request.method === 'POST' && PATHS.has(path) ? path : undefined;
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A request's JSON; undefined when it is longer than any may be, null when it is none. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > LIMITS.requestBytes) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return null;
  }
}

/** An error in the form of the Messages API, which no client tries again. */
export function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false' });
  response.end(JSON.stringify({ type: 'error', error: { type, message } }));
}

const ASKED = ['content-type', 'accept', 'user-agent', 'anthropic-version', 'anthropic-beta', 'x-app'];

/** What of a request's headers the provider gets. */
export function requestHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = ASKED.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  return { ...Object.fromEntries(kept), 'accept-encoding': 'identity' };
}

const ANSWERED = /^(content-type|request-id|retry-after(-ms)?|x-should-retry|anthropic-ratelimit-.*)$/;

/** What of a provider's headers the caller gets. */
export const relayedHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => ANSWERED.test(name)));
