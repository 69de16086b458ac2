import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Address } from './destination.ts';

/** In ms. */
export interface ConnectionLimits {
  /** Until a connection is open, with its TLS. */
  readonly connectMs: number;
  /** The longest time without a byte, before the answer and within it. */
  readonly silenceMs: number;
}

export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
  /** Default: a connection of its own. */
  readonly agent?: Agent;
  /** The only addresses to connect to, whatever the host name resolves to by then. */
  readonly addresses?: readonly Address[];
  /** The time limits of a connection; default: only `signal` ends it. */
  readonly limits?: ConnectionLimits;
}

/**
 * Sends a request; resolves when the response begins. Rejects with the network's error, also when `signal` ends it. Follows no
 * redirect.
 */
export function sendRequest(
  url: URL,
  { method, headers, body, signal, agent, addresses, limits }: OutgoingRequest,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let answer: IncomingMessage | undefined;
  const sent = request(
    url,
    {
      method,
      headers,
      agent: agent ?? false,
      ...(addresses && { lookup: pinnedLookup(addresses) }),
      ...(limits && { timeout: limits.silenceMs }),
    },
    (incoming) => {
      answer = incoming;
      resolve(incoming);
    },
  );
  // Node's own handling of a signal fails the kept socket of a whole answer that was not read, where nobody catches its error.
  const abort = (): unknown => (answer ?? sent).destroy();
  signal?.addEventListener('abort', abort, { once: true });
  sent.once('close', () => signal?.removeEventListener('abort', abort));
  if (limits !== undefined) {
    sent.on('timeout', () => {
      // No byte is taken from the network while the reader leaves what came.
      const isReaders = answer !== undefined && (answer.complete || answer.readableLength > 0);
      if (isReaders) sent.socket?.setTimeout(limits.silenceMs);
      else (answer ?? sent).destroy(tooLate('no byte arrived for', limits.silenceMs));
    });
    sent.once('socket', (socket) => {
      if (!socket.connecting) return;
      const late = () => sent.destroy(tooLate('no connection within', limits.connectMs));
      const timer = setTimeout(late, limits.connectMs);
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(timer));
      socket.once('close', () => clearTimeout(timer));
    });
  }
  sent.on('error', reject);
  // An unrequested protocol upgrade closes the connection without an error or a response.
  sent.once('close', () => reject(new Error('the connection was closed without a response')));
  sent.end(body);
  return promise;
}

const tooLate = (what: string, ms: number): Error =>
  Object.assign(new Error(`${what} ${ms / 1000} s`), { code: 'ETIMEDOUT' });

/** Answers every look-up of a connection with these addresses. */
export function pinnedLookup(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}
