import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * The ports of a fleet, by their distance to each other at most 9 in each of three places, so blocks whose offsets
 * differ by a multiple of 10 and by less than 1,000 share no port.
 */
const PLANNED = [4222, 9219, 9220, 9221, 9222, 9223, 9224];
/** In every block; no fleet listens on it. Whoever does owns the block. */
const MARK = 9228;
const STEP = 10;
const BLOCKS = 90;
/** Of the Prometheus that `fleet up` starts beside a fleet; another block has it as the port of a profile. */
const BESIDE = 9090;

/** Marks of this process; the system frees them when it ends, however it ends. */
const marks: Server[] = [];

/**
 * An offset that leaves every port of the plan free, below those that the system gives to outgoing connections (Linux:
 * 32768 and up). The block belongs to this process until it ends: fleets of other test processes take other blocks.
 */
export async function freeOffset(): Promise<number> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let block = 0; block < BLOCKS; block += 1) {
    const offset = 1000 + ((start + block) % BLOCKS) * STEP;
    const mark = await listen(MARK + offset);
    if (mark === undefined) continue;
    marks.push(mark);
    const free = await Promise.all([...PLANNED, BESIDE].map((port) => isFree(port + offset)));
    if (free.every(Boolean)) return offset;
  }
  throw new Error('no free block of ports was found');
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  if (server === undefined) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/** Resolves with undefined when the port is in use. It keeps no process alive. */
const listen = (port: number): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer().unref();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
