import type { IncomingMessage } from 'node:http';
import { FleetError } from '@hermes-fleet/protocol';
import { type BodyOptions, boundedBody } from './bounded-body.ts';

const WITHOUT_BODY = new Set([204, 205, 304]);

/** The response of `fetch` for an answer. Throws PEER_REFUSED for a status or a header that none can have, and closes it. */
export function responseOf(incoming: IncomingMessage, options: BodyOptions): Response {
  const { host } = options;
  const status = incoming.statusCode ?? 0;
  try {
    if (status < 200 || status > 599)
      throw new FleetError('PEER_REFUSED', `${host} answered with the invalid HTTP status ${status}`);
    const headers = headersOf(incoming, host);
    if (!WITHOUT_BODY.has(status)) return new Response(boundedBody(incoming, options), { status, headers });
    // The parser knows that the others end here, so that their connection is kept.
    if (status === 205) incoming.destroy();
    else incoming.resume();
    options.onEnd?.();
    return new Response(null, { status, headers });
  } catch (error) {
    incoming.destroy();
    throw error;
  }
}

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
