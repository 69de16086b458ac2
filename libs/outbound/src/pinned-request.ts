import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Address } from './destination.ts';

export interface PinnedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
  /** The only addresses that it connects to, whatever the name leads to by then. */
  readonly addresses: readonly Address[];
}

/** One request over a connection of its own; its answer as soon as it begins. Rejects with what the network says. */
export function pinnedRequest(url: URL, o: PinnedRequest): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const { method, headers, body, signal } = o;
  return new Promise((resolve, reject) => {
    const init = { method, headers, signal, agent: false, lookup: pinned(o.addresses) };
    const sent = request(url, init, resolve);
    sent.once('error', reject);
    // Also without an error or an answer, as after a change of protocol that nobody asked for.
    sent.once('close', () => reject(new Error('the connection was closed without an answer')));
    sent.end(body);
  });
}

function pinned(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}
