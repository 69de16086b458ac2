import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { quantile } from '../frame/quantile.ts';
import type { LoadOrder, LoadReply, LoadResult } from './load.ts';

// Sends requests to one server at a time, as `load.ts` orders over the IPC channel; ends when the channel closes.

const BRIEF = 'Say what the fleet does when a worker is full. '.repeat(4);
const MEDIA_TYPE = 'application/vnd.hermes.handshake+json';
const TIMEOUT_MS = 30_000;
const SHOWN_CHARS = 800;

process.on('message', (order: LoadOrder) => {
  const answer = (reply: LoadReply): void => void process.send?.(reply);
  round(order).then(
    (result) => answer({ result }),
    (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.once('disconnect', () => process.exit());

async function round(order: LoadOrder): Promise<LoadResult> {
  const pool = new Pool(order.url, {
    connections: order.concurrency,
    pipelining: 1,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });
  const latencies: number[] = [];
  try {
    const startedAt = performance.now();
    const goesOn = (): boolean => {
      const ms = performance.now() - startedAt;
      return ms < order.ms || (latencies.length < order.samples && ms < 3 * order.ms);
    };
    const caller = async (): Promise<void> => {
      while (goesOn()) {
        const sentAt = performance.now();
        await send(pool, order);
        latencies.push(performance.now() - sentAt);
      }
    };
    await Promise.all(Array.from({ length: order.concurrency }, caller));
    const seconds = (performance.now() - startedAt) / 1_000;
    const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
    return { count: latencies.length, seconds, p50, p99 };
  } finally {
    await pool.destroy();
  }
}

async function send(pool: Pool, { kind, token, expect }: LoadOrder): Promise<void> {
  const { statusCode, body } = await pool.request({
    path: '/jsonrpc',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'a2a-version': '1.0',
    },
    body: request(kind),
  });
  const text = await body.text();
  if (statusCode !== 200 || !text.includes(expect))
    throw new Error(`expected ${expect}, but got ${statusCode} ${text.slice(0, SHOWN_CHARS)}`);
}

function request(kind: LoadOrder['kind']): string {
  const dispatch = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: randomUUID(), reply_schema: 'prose' },
    ...(kind === 'blocked' ? { requirements: { required_mcp: ['nope'] } } : {}),
    brief: BRIEF,
  };
  const message = {
    messageId: randomUUID(),
    role: 'ROLE_USER',
    parts: [{ data: dispatch, mediaType: MEDIA_TYPE }],
  };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } });
}
