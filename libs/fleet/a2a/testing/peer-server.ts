import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { PeerEndpoint } from '../src/client/transport.ts';

/** A scripted peer, for behavior that a real profile never shows. */
export async function peerServer(
  t: TestContext,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<PeerEndpoint> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => handle(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    name: 'odd',
    url: `http://127.0.0.1:${portOf(server.address())}/jsonrpc`,
    token: 'odd-token-0123456789',
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new TypeError('the server does not listen');
  return address.port;
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
