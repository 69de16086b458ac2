import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FleetError } from '@hermes-fleet/protocol';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** What is asked for, so that no other encoding has to be understood. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';

export interface BodyOptions {
  /** Before and after decompression. */
  readonly maxBytes: number;
  /** Who answers, for messages. */
  readonly host: string;
  readonly signal: AbortSignal;
  /** Called once, when the body is over, for whatever reason. */
  readonly onEnd: () => void;
}

/**
 * The decompressed body of an answer, read only as far as it is asked for. Fails with PEER_REFUSED beyond `maxBytes` and
 * for what cannot be decompressed, with PEER_UNREACHABLE when it breaks off, and with the reason of `signal`.
 */
export function boundedBody(
  answer: IncomingMessage,
  o: BodyOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = plain(answer, o)[Symbol.asyncIterator]();
  let bytes = 0;
  const end = (): void => {
    answer.destroy();
    o.onEnd();
  };
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) {
            end();
            controller.close();
            return;
          }
          bytes += value.byteLength;
          if (bytes > o.maxBytes) throw tooLarge(o);
          controller.enqueue(new Uint8Array(value));
        } catch (error) {
          end();
          controller.error(reasonOf(error, o));
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** Throws PEER_REFUSED for an encoding that was not asked for. */
function plain(answer: IncomingMessage, o: BodyOptions): Readable {
  const coding = answer.headers['content-encoding']?.trim().toLowerCase() || 'identity';
  if (coding === 'identity') return answer;
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding]?.() : undefined;
  if (decoder === undefined) {
    answer.destroy();
    throw new FleetError('PEER_REFUSED', `${o.host} answered in an encoding that was not asked for`);
  }
  // Ends are told by the decoder, which fails with what failed before it.
  return pipeline(answer, meter(o), decoder, () => undefined);
}

/** Counts what arrives: much of it may decompress to nothing. */
function meter(o: BodyOptions): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.byteLength;
      if (bytes > o.maxBytes) done(tooLarge(o));
      else done(null, chunk);
    },
  });
}

function tooLarge({ host, maxBytes }: BodyOptions): FleetError {
  return new FleetError('PEER_REFUSED', `${host} answered with more than ${maxBytes} bytes`);
}

function reasonOf(error: unknown, { signal, host }: BodyOptions): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof FleetError) return error;
  // Only the decoders' own errors have a number beside their code.
  const isBroken =
    error instanceof Error && 'errno' in error && 'code' in error && /^(Z|ERR)_/.test(String(error.code));
  return isBroken
    ? new FleetError('PEER_REFUSED', `${host} answered with what cannot be decompressed`, { cause: error })
    : new FleetError('PEER_UNREACHABLE', `the answer of ${host} broke off`, { cause: error });
}
