import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadOrder } from './load.ts';
import type { BenchServer } from './server.ts';
import { ROUND, roundOf } from './server-round.ts';

test('the requests before a round are not in its counters', async () => {
  const orders: LoadOrder[] = [];
  const server: BenchServer = {
    url: 'http://127.0.0.1:1',
    token: 't',
    cpuUs: () => orders.length * 1_000,
    writtenBytes: () => orders.length * 5_000,
    rssMb: () => 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const load = {
    round: async (order: LoadOrder) => {
      orders.push(order);
      return { count: 10, seconds: 1, p50: 1, p99: 2 };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const round = await roundOf(load, server, { kind: 'dispatch', expect: '', concurrency: 1, ...ROUND });
  assert.deepEqual(
    orders.map(({ ms, samples }) => [ms, samples]),
    [
      [ROUND.leadInMs, 0],
      [ROUND.ms, ROUND.samples],
    ],
  );
  assert.deepEqual([round.cpuUs, round.writtenKb, round.count], [100, 0.5, 10]);
});
