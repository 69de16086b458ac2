import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * `open`: everything passes. `cut`: requests arrive, and no answer comes back. `hold`: requests are kept, as in the buffers
 * of a paused process, and the sender sees a broken connection. `down`: nothing arrives.
 */
export type LineState = 'open' | 'cut' | 'hold' | 'down';

export interface FaultyLine {
  readonly port: number;
  /** Closes all connections. */
  set(state: LineState): void;
  /** The number of requests that are held. */
  readonly held: number;
  /** Delivers the requests that were held, one after another, and resolves with the answers. */
  deliver(): Promise<string[]>;
}

/** A line to a server on loopback that a test can break. */
export async function faultyLine(t: TestContext, port: number, toPort: number): Promise<FaultyLine> {
  const sockets = new Set<Socket>();
  let held: Buffer[] = [];
  let state: LineState = 'open';
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const upstream = (): Socket => track(connect(toPort, '127.0.0.1'));
  const server = createServer((client) => {
    track(client);
    if (state === 'down') client.destroy();
    else if (state === 'hold')
      client.once('data', (request) => {
        held.push(request);
        client.destroy();
      });
    else {
      const other = upstream();
      client.pipe(other);
      if (state === 'open') other.pipe(client);
      else other.once('data', () => client.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    closeAll();
    server.close();
  });
  return {
    port,
    get held() {
      return held.length;
    },
    set(next) {
      state = next;
      closeAll();
    },
    async deliver() {
      const requests = held;
      held = [];
      const answers: string[] = [];
      for (const request of requests) {
        const other = upstream();
        other.write(request);
        const answer = await new Promise<Buffer>((resolve) => other.once('data', resolve));
        answers.push(answer.toString());
        other.destroy();
      }
      return answers;
    },
  };
}
