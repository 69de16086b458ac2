import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { TestContext } from 'node:test';

/** A model's provider on loopback that can stop and come back at the same address. */
export interface Provider {
  /** Without `/v1`. */
  readonly url: string;
  /** The requests so far, as method and path. */
  readonly requests: readonly string[];
  /** The status of the next answers, by method and path; undefined never answers. */
  answers: (request: string) => number | undefined;
  /** The headers of the last request. */
  readonly headers: () => Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Starts a provider that answers everything with an empty JSON object, and with 200 unless the test says otherwise. */
export async function startProvider(t: TestContext): Promise<Provider> {
  const requests: string[] = [];
  let headers: Record<string, unknown> = {};
  let port = 0;
  let server: Server | undefined;
  const provider = { answers: (_request: string): number | undefined => 200 };
  const answer: RequestListener = (request, response) => {
    const name = `${request.method} ${request.url}`;
    requests.push(name);
    headers = request.headers;
    request.resume().once('end', () => {
      const status = provider.answers(name);
      if (status !== undefined) response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  };
  async function start(): Promise<void> {
    server = createServer(answer).listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (typeof address === 'object' && address) port = address.port;
  }
  async function stop(): Promise<void> {
    const running = server;
    server = undefined;
    if (!running) return;
    const closed = once(running, 'close');
    running.close();
    running.closeAllConnections();
    await closed;
  }
  await start();
  t.after(stop);
  return Object.assign(provider, {
    url: `http://127.0.0.1:${port}`,
    requests,
    headers: () => headers,
    stop,
    start,
  });
}
