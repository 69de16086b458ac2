import { createClient } from '@hermes-fleet/net';

/** How long an answer may take to its first token, and between two parts. */
export interface Deadlines {
  readonly firstTokenMs: number;
  readonly idleMs: number;
}

/** The deadlines of an answer, which count its parts, are reached before that of the connection, which counts bytes. */
const MARGIN_MS = 10_000;

/** A `fetch` for the calls of a provider, with bounded answers (`boundedAnswerFetch`). A redirect is a RedirectError. */
export const providerFetch = ({ firstTokenMs, idleMs }: Deadlines): typeof fetch =>
  boundedAnswerFetch(createClient('configured', { silenceMs: Math.max(firstTokenMs, idleMs) + MARGIN_MS }));

/** The message of an error is short; the rest of a longer answer is not read. */
const MAX_ERROR_BYTES = 64 * 1024;
/** A line of a stream is one part of an answer, at most a whole tool call. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** `fetch` of bounded answers: 64 KiB of an error; a success fails at 8 MiB without the end of a line. */
function boundedAnswerFetch(next: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await next(input, init);
    if (response.body === null) return response;
    return new Response(bounded(response.body, response.ok ? boundedLines() : firstBytes()), response);
  };
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Decides how much of the next chunk is passed on, and whether the answer ends with it. An error fails the answer. */
type Bound = (chunk: Bytes) => { readonly passed: Bytes; readonly isLast?: boolean };

/** Reads chunk by chunk: a TransformStream costs several times as much for each chunk. */
function bounded(body: ReadableStream<Bytes>, bound: Bound): ReadableStream<Bytes> {
  const reader = body.getReader();
  return new ReadableStream<Bytes>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        try {
          const { passed, isLast = false } = bound(value);
          controller.enqueue(passed);
          if (!isLast) return;
          controller.close();
          await reader.cancel();
        } catch (error) {
          await reader.cancel(error);
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function firstBytes(): Bound {
  let left = MAX_ERROR_BYTES;
  return (chunk) => {
    const passed = chunk.subarray(0, left);
    left -= passed.length;
    return { passed, isLast: left === 0 };
  };
}

const [LF, CR] = [10, 13];

function boundedLines(): Bound {
  let bytes = 0;
  return (chunk) => {
    const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR));
    bytes = end === -1 ? bytes + chunk.length : chunk.length - end - 1;
    if (bytes > MAX_LINE_BYTES) throw new Error('a line of the answer has more than 8 MiB');
    return { passed: chunk };
  };
}
