import { createServer } from 'node:net';

/** The ports that this process has used: the system may offer a free one twice. */
const given = new Set<number>();

export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    if (address === null || typeof address === 'string') throw new Error('no port');
    if (given.has(address.port)) continue;
    given.add(address.port);
    return address.port;
  }
}
