import { createClient } from '@hermes-fleet/net';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ServerFailure } from './failure.ts';

const MAX_REPLY_BYTES = 10 * 1024 * 1024;
const [LF, CR] = [10, 13];

/**
 * MCP over Streamable HTTP. A reply, or a single event of the session's GET stream, fails above 10 MB. The
 * SDK follows a redirect within the origin itself; any other one is an error.
 */
export function createHttpTransport(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): StreamableHTTPClientTransport {
  const send = createClient('configured', { redirects: 'returned' });
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: async (target, init) => {
      const response = await send(target, init);
      // The GET stream lives as long as the session, so its limit is per event.
      return bounded(response, init?.method === 'GET' && response.ok ? eventBytes() : replyBytes());
    },
  });
}

/** Adds a chunk and returns the size of the current reply or event. */
type Count = (chunk: Uint8Array) => number;

function bounded(response: Response, count: Count): Response {
  const isRedirect = response.status >= 300 && response.status < 400;
  if (isRedirect || response.body === null) return response;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (count(chunk) <= MAX_REPLY_BYTES) controller.enqueue(chunk);
      else controller.error(new ServerFailure('answered with more than 10 MB'));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}

function replyBytes(): Count {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    return bytes;
  };
}

/** Counts the bytes of one SSE event, which ends at an empty line. */
function eventBytes(): Count {
  let bytes = 0;
  let lineBytes = 0;
  let last = 0;
  return (chunk) => {
    for (const byte of chunk) {
      bytes += 1;
      const isEnd = byte === CR || (byte === LF && last !== CR);
      if (isEnd && lineBytes === 0) bytes = 0;
      if (byte === LF || byte === CR) lineBytes = 0;
      else lineBytes += 1;
      last = byte;
    }
    return bytes;
  };
}
