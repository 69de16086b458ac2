import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Address } from './destination.ts';

export interface PinnedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
  /** The only addresses to connect to, whatever the host name resolves to by then. */
  readonly addresses: readonly Address[];
}

/** Sends a request over its own connection; resolves when the response begins. Rejects with the network's error. */
export function pinnedRequest(
  url: URL,
  { method, headers, body, signal, addresses }: PinnedRequest,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const options = { method, headers, signal, agent: false, lookup: pinnedLookup(addresses) };
    const sent = request(url, options, resolve);
    sent.once('error', reject);
    // An unrequested protocol upgrade closes the connection without an error or a response.
    sent.once('close', () => reject(new Error('the connection was closed without a response')));
    sent.end(body);
  });
}

/** Answers every look-up of a connection with these addresses. */
export function pinnedLookup(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}
