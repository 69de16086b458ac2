/** The message of an error is short; the rest of a longer answer is not read. */
const MAX_ERROR_BYTES = 64 * 1024;
/** A line of a stream is one part of an answer, at most a whole tool call. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/**
 * `fetch` whose answers cannot fill the memory: of an error, the first 64 KiB are read; a successful answer fails if it has
 * more than 8 MiB without the end of a line.
 */
export function boundedAnswerFetch(next: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await next(input, init);
    if (response.body === null) return response;
    const bounded = response.body.pipeThrough(response.ok ? boundedLines() : firstBytes());
    return new Response(bounded, response);
  };
}

type Bytes = Uint8Array<ArrayBuffer>;

function firstBytes(): TransformStream<Bytes, Bytes> {
  let left = MAX_ERROR_BYTES;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) controller.terminate();
    },
  });
}

const [LF, CR] = [10, 13];

function boundedLines(): TransformStream<Bytes, Bytes> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR));
      bytes = end === -1 ? bytes + chunk.length : chunk.length - end - 1;
      if (bytes > MAX_LINE_BYTES) throw new Error('a line of the answer has more than 8 MiB');
      controller.enqueue(chunk);
    },
  });
}
