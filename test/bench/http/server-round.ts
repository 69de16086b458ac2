import { P99_SAMPLES } from '../frame/quantile.ts';
import type { LoadOrder, LoadProcess } from './load.ts';
import type { BenchServer } from './server.ts';

export interface Round {
  readonly count: number;
  readonly seconds: number;
  /** Answers per second. */
  readonly rate: number;
  /** Latencies in ms; `p99` is NaN with too few samples. */
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the server for each request, in µs. */
  readonly cpuUs: number;
  /** Processor time of the server as a share of the round; with one core, below 1 when it waits for load or disk. */
  readonly busy: number;
  /** What the server wrote for each request, in kB: files, log and answers. */
  readonly writtenKb: number;
}

/** How a server is warmed up. The processor time of a request falls until about so many requests. */
export const WARM_UP = { concurrency: 32, ms: 0, samples: 10_000, limitMs: 15_000 };
/**
 * How long a round is: so long that steps of 10 ms of processor time do not matter, and until there is a p99. The requests
 * of `leadInMs` before it are not counted: the first ones after a pause cost more.
 */
export const ROUND = { leadInMs: 500, ms: 800, samples: P99_SAMPLES, limitMs: 10_000 };

export type RoundOrder = Omit<LoadOrder, 'url' | 'token'> & { readonly leadInMs?: number };

/** Loads a server for one round, and takes the differences of its counters. */
export async function roundOf(
  load: LoadProcess,
  server: BenchServer,
  { leadInMs, ...order }: RoundOrder,
): Promise<Round> {
  const { url, token } = server;
  if (leadInMs !== undefined)
    await load.round({ ...order, url, token, ms: leadInMs, samples: 0, limitMs: leadInMs });
  const [cpu, written] = [server.cpuUs(), server.writtenBytes()];
  const { count, seconds, p50, p99 } = await load.round({ ...order, url, token });
  const cpuUs = (server.cpuUs() - cpu) / count;
  const rate = count / seconds;
  return {
    count,
    seconds,
    rate,
    p50,
    p99: count < P99_SAMPLES ? Number.NaN : p99,
    cpuUs,
    busy: (rate * cpuUs) / 1_000_000,
    writtenKb: (server.writtenBytes() - written) / count / 1_000,
  };
}
