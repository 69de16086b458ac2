import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ServerFailure } from './failure.ts';

const MAX_REPLY_BYTES = 10 * 1024 * 1024;

/** MCP over Streamable HTTP; a reply of more than 10 MB ends with a failure. Redirects stay within the origin. */
export function createHttpTransport(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: async (target, init) => {
      const response = await fetch(target, init);
      // The GET stream lives as long as the session; everything else answers one request.
      return init?.method === 'GET' ? response : bounded(response);
    },
  });
}

function bounded(response: Response): Response {
  if (!response.ok || response.body === null) return response;
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= MAX_REPLY_BYTES) controller.enqueue(chunk);
      else controller.error(new ServerFailure('answered with more than 10 MB'));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}
