import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FleetError } from '@hermes-fleet/protocol';
import { quoted } from './destination.ts';

const WITHOUT_BODY = new Set([204, 205, 304]);

/** The response of `fetch` for the answer of `url`. Throws PEER_REFUSED for a status or a header that none can have, and closes it. */
export function responseOf(incoming: IncomingMessage, url: URL, given: Omit<BodyOptions, 'host'>): Response {
  const options = { ...given, host: quoted(url.host) };
  const { host } = options;
  const status = incoming.statusCode ?? 0;
  try {
    if (status < 200 || status > 599)
      throw new FleetError('PEER_REFUSED', `${host} answered with the invalid HTTP status ${status}`);
    const init = { status, statusText: statusTextOf(incoming), headers: headersOf(incoming, host) };
    if (!WITHOUT_BODY.has(status)) return from(url, new Response(boundedBody(incoming, options), init));
    // The parser knows that the others end here, so that their connection is kept.
    if (status === 205) incoming.destroy();
    else incoming.resume();
    options.onEnd?.();
    return from(url, new Response(null, init));
  } catch (error) {
    incoming.destroy();
    throw error;
  }
}

/** Adds what only `fetch` can make: the address, without its fragment. */
function from({ href }: URL, response: Response): Response {
  return Object.defineProperty(response, 'url', { value: href.replace(/#.*$/, '') });
}

/** Without the characters that no status text of a Response may have. */
const statusTextOf = ({ statusMessage = '' }: IncomingMessage): string =>
  statusMessage.replace(/[^\t\x20-\x7e\x80-\xff]/g, '');

function headersOf({ rawHeaders }: IncomingMessage, host: string): Headers {
  const headers = new Headers();
  try {
    for (let index = 0; index + 1 < rawHeaders.length; index += 2)
      headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  } catch (cause) {
    throw new FleetError('PEER_REFUSED', `${host} answered with an invalid header`, { cause });
  }
  return headers;
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The encodings of DECODERS. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';

interface BodyOptions {
  /** The limit before and after decompression; none for a stream whose reader has its own. */
  readonly maxBytes?: number | undefined;
  /** The responding host, for error messages. */
  readonly host: string;
  readonly signal: AbortSignal | undefined;
  /** Called once, when the body ends for any reason. */
  readonly onEnd?: () => void;
  /** Turns an error of the body into the one that the reader gets; default: unchanged. */
  readonly raise?: (error: FleetError) => Error;
}

/**
 * The decompressed body of a response, read on demand. Fails with PEER_REFUSED beyond `maxBytes` and for invalid
 * compressed data, with PEER_UNREACHABLE when the connection breaks, and with the reason of `signal`.
 */
function boundedBody(
  response: IncomingMessage,
  options: BodyOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { maxBytes = Number.POSITIVE_INFINITY } = options;
  const chunks = decoded(response, options)[Symbol.asyncIterator]();
  let bytes = 0;
  const end = (): void => {
    response.destroy();
    options.onEnd?.();
  };
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          options.signal?.throwIfAborted();
          if (done) {
            end();
            controller.close();
            return;
          }
          bytes += value.byteLength;
          if (bytes > maxBytes) throw tooLarge(options);
          controller.enqueue(new Uint8Array(value));
        } catch (error) {
          end();
          controller.error(errorOf(error, options));
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** Throws PEER_REFUSED for an encoding outside ACCEPT_ENCODING. */
function decoded(response: IncomingMessage, options: BodyOptions): Readable {
  const coding = response.headers['content-encoding']?.trim().toLowerCase() || 'identity';
  if (coding === 'identity') return response;
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding]?.() : undefined;
  if (decoder === undefined) {
    response.destroy();
    throw new FleetError('PEER_REFUSED', `${options.host} responded with an encoding that was not requested`);
  }
  // The reader of the decoder sees every error of the pipeline.
  return pipeline(response, limitBytes(options), decoder, () => undefined);
}

/** Limits the compressed bytes, too: many of them may decompress to nothing. */
function limitBytes(options: BodyOptions): Transform {
  const { maxBytes = Number.POSITIVE_INFINITY } = options;
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) done(tooLarge(options));
      else done(null, chunk);
    },
  });
}

function tooLarge({ host, maxBytes }: BodyOptions): FleetError {
  return new FleetError('PEER_REFUSED', `${host} answered with more than ${maxBytes} bytes`);
}

function errorOf(error: unknown, { signal, host, raise = (own) => own }: BodyOptions): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof FleetError) return raise(error);
  // Only errors of the decoders have both an errno and such a code.
  const isInvalidData =
    error instanceof Error && 'errno' in error && 'code' in error && /^(Z|ERR)_/.test(String(error.code));
  return raise(
    isInvalidData
      ? new FleetError('PEER_REFUSED', `the response of ${host} cannot be decompressed`, { cause: error })
      : new FleetError('PEER_UNREACHABLE', `the response of ${host} ended early`, { cause: error }),
  );
}
