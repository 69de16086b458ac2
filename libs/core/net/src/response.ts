import type { IncomingMessage } from 'node:http';
import { FleetError } from '@hermes-fleet/protocol';
import { type BodyOptions, boundedBody } from './bounded-body.ts';
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
