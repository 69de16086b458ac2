import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';

export interface TestServer {
  readonly port: number;
  /** The received requests, in order. */
  readonly requests: IncomingMessage[];
}

/** A server on loopback that is closed after the test. */
export async function startServer(
  t: TestContext,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  host = '127.0.0.1',
): Promise<TestServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server does not listen');
  return { port: address.port, requests };
}
