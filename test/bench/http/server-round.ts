import type { LoadOrder, LoadProcess } from './load.ts';
import type { BenchServer } from './server.ts';

export interface Round {
  readonly count: number;
  /** Answers per second. */
  readonly rate: number;
  /** Latencies in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the server for each request, in µs. */
  readonly cpuUs: number;
  /** What the server wrote for each request, in kB: files, log and answers. */
  readonly writtenKb: number;
}

/** Loads a server for one round, and takes the differences of its counters. */
export async function roundOf(
  load: LoadProcess,
  server: BenchServer,
  order: Omit<LoadOrder, 'url' | 'token'>,
): Promise<Round> {
  const [cpu, written] = [server.cpuUs(), server.writtenBytes()];
  const { count, seconds, p50, p99 } = await load.round({ ...order, url: server.url, token: server.token });
  return {
    count,
    rate: count / seconds,
    p50,
    p99,
    cpuUs: (server.cpuUs() - cpu) / count,
    writtenKb: (server.writtenBytes() - written) / count / 1_000,
  };
}
