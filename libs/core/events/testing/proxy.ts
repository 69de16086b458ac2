import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

/** One protocol message of NATS, with its control line. */
export interface Frame {
  readonly fromClient: boolean;
  readonly line: string;
  readonly text: string;
}

export interface Proxy {
  readonly url: string;
  /** Called for every frame; false drops it, and a text takes its place. */
  pass: (frame: Frame) => boolean | string;
  /** The number of connections so far. */
  connections(): number;
}

/** A proxy in front of a nats-server that can drop single messages in either direction. */
export async function startProxy(
  t: { after(fn: () => Promise<void>): void },
  targetUrl: string,
): Promise<Proxy> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let count = 0;
  const proxy = { pass: (_frame: Frame): boolean | string => true };
  const server = createServer((client) => {
    count += 1;
    const upstream = createConnection({ host: target.hostname, port: Number(target.port) });
    join(client, upstream, true);
    join(upstream, client, false);
  });
  const join = (from: Socket, to: Socket, fromClient: boolean): void => {
    sockets.add(from);
    const split = frameSplitter();
    from.on('data', (chunk) => {
      for (const frame of split(chunk)) {
        const line = frame.subarray(0, frame.indexOf('\r\n')).toString();
        const passed = proxy.pass({ fromClient, line, text: frame.toString() });
        if (passed !== false) to.write(passed === true ? frame : passed);
      }
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return Object.assign(proxy, { url: `nats://127.0.0.1:${address.port}`, connections: () => count });
}

/** Splits a byte stream into frames: a line and, for the four message verbs, its payload. */
function frameSplitter(): (chunk: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const frames: Buffer[] = [];
    for (;;) {
      const end = rest.indexOf('\r\n');
      if (end === -1) return frames;
      const fields = rest.subarray(0, end).toString().split(' ');
      const hasPayload = ['PUB', 'HPUB', 'MSG', 'HMSG'].includes(fields[0] ?? '');
      const length = end + 2 + (hasPayload ? Number(fields.at(-1)) + 2 : 0);
      if (rest.length < length) return frames;
      frames.push(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}
