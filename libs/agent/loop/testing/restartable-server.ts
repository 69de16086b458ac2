import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { TestContext } from 'node:test';

export interface RestartableServer {
  readonly url: string;
  /** Refuses connections and cuts those that it has, until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** A server on loopback that can stop and come back at the same address. It ends with the test. */
export async function restartableServer(t: TestContext, answer: RequestListener): Promise<RestartableServer> {
  let port = 0;
  let server: Server | undefined;
  async function start(): Promise<void> {
    server = createServer(answer).listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    port = address.port;
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
  return { url: `http://127.0.0.1:${port}`, stop, start };
}
