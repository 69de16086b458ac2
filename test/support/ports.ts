import { createServer } from 'node:net';

/**
 * An offset that leaves every port of the plan free, below those that the system gives to outgoing connections (Linux:
 * 32768 and up), which could take one of them at any moment.
 */
export async function freeOffset(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const offset = 1000 + Math.floor(Math.random() * 220) * 100;
    const ports = [4222, 8222, 9219, 9220, 9221, 9222, 9223].map((port) => port + offset);
    const free = await Promise.all(ports.map(isFree));
    if (free.every(Boolean)) return offset;
  }
  throw new Error('no free block of ports was found');
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolveFree) => {
    const server = createServer();
    server.once('error', () => resolveFree(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolveFree(true)));
  });
