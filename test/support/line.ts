import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** The connections that one service opens to another one, which a test can cut and heal, as a network would. */
export interface Line {
  readonly port: number;
  /** No byte passes any more, on open and on new connections. Nobody is told; the bytes under way arrive after `heal`. */
  cut(): void;
  heal(): void;
  /** Cuts the line when the next chunk that contains `text` has passed, before anything of the answer does. */
  cutAfter(text: string, onCut: () => void): void;
}

/** Opens a line to a port of this machine that may begin to listen later. It ends with the test. */
export async function openLine(t: TestContext, target: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let trigger: { readonly text: string; readonly onCut: () => void } | undefined;
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.pause();
  };
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (chunk) => {
      to.write(chunk);
      if (!trigger || !chunk.includes(trigger.text)) return;
      const { onCut } = trigger;
      trigger = undefined;
      cut();
      onCut();
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    if (isCut) from.pause();
  };
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    join(client, upstream);
    join(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the line has no port');
  return {
    port: address.port,
    cut,
    heal() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    cutAfter(text, onCut) {
      trigger = { text, onCut };
    },
  };
}
