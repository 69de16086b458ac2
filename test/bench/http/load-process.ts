import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { quantile } from '../frame/quantile.ts';
import { decisionRequest } from './decision-body.ts';
import type { LoadOrder, LoadReply, LoadResult } from './load.ts';
import { requestBody } from './request-body.ts';

// Sends requests to one server at a time, as `load.ts` orders over the IPC channel; ends when the channel closes. A request
// costs as little as possible here, because a rate is limited by whoever of load and server is slower.

const TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 60_000;
const SHOWN_CHARS = 800;

/** The connections to each server, which all of its rounds use. */
const pools = new Map<string, Pool>();

process.on('message', (order: LoadOrder) => {
  // Without the bench nobody is left to answer.
  const answer = (reply: LoadReply): void =>
    void process.send?.(reply, (error: Error | null) => error && process.exit());
  round(order).then(
    (result) => answer({ result }),
    (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.once('disconnect', () => process.exit());

async function round(order: LoadOrder): Promise<LoadResult> {
  const pool = poolOf(order.url);
  const send = senderOf(pool, order);
  const latencies: number[] = [];
  const startedAt = performance.now();
  const goesOn = (now: number): boolean => {
    const ms = now - startedAt;
    return ms < order.limitMs && (ms < order.ms || latencies.length < order.samples);
  };
  const caller = async (_: unknown, at: number): Promise<void> => {
    for (let sentAt = performance.now(); goesOn(sentAt); ) {
      await send(at);
      const now = performance.now();
      latencies.push(now - sentAt);
      sentAt = now;
    }
  };
  await Promise.all(Array.from({ length: order.concurrency }, caller));
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    count: latencies.length,
    seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

function poolOf(url: string): Pool {
  const known = pools.get(url);
  if (known) return known;
  const pool = new Pool(url, {
    pipelining: 1,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  pools.set(url, pool);
  return pool;
}

/** A function that sends one request; it rejects if the answer is not what the order expects. */
function senderOf(pool: Pool, { kind, token, expect }: LoadOrder): (caller: number) => Promise<void> {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    'a2a-version': '1.0',
    ...(kind === 'mcp' ? { accept: 'application/json, text/event-stream' } : {}),
  };
  const next = requestsOf(kind);
  return (caller) =>
    new Promise((resolve, reject) => {
      let status = 0;
      const chunks: Buffer[] = [];
      pool.dispatch(
        { method: 'POST', headers, ...next(caller) },
        {
          onRequestStart() {},
          onResponseStart(_, statusCode) {
            status = statusCode;
          },
          onResponseData(_, chunk) {
            chunks.push(chunk);
          },
          onResponseEnd() {
            const answer = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
            if (status === 200 && answer?.includes(expect)) return resolve();
            const shown = answer?.toString('utf8').slice(0, SHOWN_CHARS);
            reject(new Error(`expected ${expect}, but got ${status} ${shown}`));
          },
          onResponseError(_, error) {
            reject(error);
          },
        },
      );
    });
}

function requestsOf(
  kind: LoadOrder['kind'],
): (caller: number) => { readonly path: string; readonly body: string } {
  if (kind === 'jsonrpc' || kind === 'mcp' || kind === 'a2a')
    return (caller) => decisionRequest(kind, caller);
  const body = requestBody(kind);
  return () => ({ path: '/jsonrpc', body: body(randomUUID(), randomUUID()) });
}
