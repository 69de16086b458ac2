import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import type { Address } from './destination.ts';

/** In ms. */
export interface ConnectionLimits {
  /** Until a connection is open, with its TLS. */
  readonly connectMs: number;
  /**
   * The longest time without a byte, before the answer and within it. A reader that leaves what came has it once more: an answer of
   * which nothing is read for so long is closed after at most twice this time.
   */
  readonly silenceMs: number;
}

export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A Blob, as of a file, is sent as it is read. */
  readonly body: string | Uint8Array | Blob | undefined;
  readonly signal: AbortSignal | undefined;
  /** Default: a connection of its own. */
  readonly agent?: Agent;
  /** The only addresses to connect to, whatever the host name resolves to by then. */
  readonly addresses?: readonly Address[];
  /** The time limits of a connection; default: only `signal` ends it. */
  readonly limits?: ConnectionLimits;
}

/**
 * Sends a request; resolves when the response begins. Rejects with the network's error, also when `signal` ends it. Throws for
 * what cannot be sent, such as an invalid method or header. Follows no redirect.
 */
export function sendRequest(
  url: URL,
  { method, headers, body, signal, agent, addresses, limits }: OutgoingRequest,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let answer: IncomingMessage | undefined;
  // Without it, the body of a DELETE would be the beginning of the next request of its connection.
  const length = body === undefined ? undefined : { 'content-length': String(lengthOf(body)) };
  const sent = request(
    url,
    {
      method,
      headers: { ...headers, ...length },
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
    /** Bytes of the answer that the reader had taken at the last timeout. */
    let taken: number | undefined;
    const onTimeout = (): void => {
      // No byte is taken from the network while the reader leaves what came.
      if (answer === undefined || !(answer.complete || answer.readableLength > 0)) {
        (answer ?? sent).destroy(tooLate('no byte arrived for', limits.silenceMs));
        return;
      }
      const before = taken;
      taken = (sent.socket?.bytesRead ?? 0) - answer.readableLength;
      if (taken === before) answer.destroy(tooLate('nothing was read for', limits.silenceMs));
      else sent.socket?.setTimeout(limits.silenceMs);
    };
    sent.once('socket', (socket) => {
      // The request's own event comes once only.
      socket.on('timeout', onTimeout);
      sent.once('close', () => socket.off('timeout', onTimeout));
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
  if (body instanceof Blob) sendBlob(body, sent);
  else sent.end(body);
  return promise;
}

const lengthOf = (body: string | Uint8Array | Blob): number =>
  body instanceof Blob ? body.size : Buffer.byteLength(body);

/** One that cannot be read ends the request with the error of that, which a pipeline would hide. */
function sendBlob(blob: Blob, request: ClientRequest): void {
  const content = Readable.from(blob.stream());
  content.once('error', (error) => request.destroy(error));
  request.once('close', () => content.destroy());
  content.pipe(request);
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
