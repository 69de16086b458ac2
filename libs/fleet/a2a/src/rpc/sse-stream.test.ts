import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fastifySSE } from '@fastify/sse';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import fastify from 'fastify';
import { CLOSING } from '../server/open-calls.ts';
import type { Call } from '../server/request-handler.ts';
import type { Exchange } from './exchange.ts';
import { streamReplies } from './sse-stream.ts';

const EVENTS = 20_000;

test('a stream keeps nothing of the events that its client has read', async (t) => {
  setFlagsFromString('--expose-gc');
  const heap = (): number => {
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed;
  };
  const grown: number[] = [];
  async function* envelopes() {
    // The first events make what every stream has.
    for (let n = 0; n < 1_000; n += 1) yield { n };
    const before = heap();
    for (let n = 0; n < EVENTS; n += 1) yield { n };
    grown.push((heap() - before) / EVENTS);
  }
  const app = fastify();
  t.after(() => app.close());
  await app.register(fastifySSE);
  app.get('/', { sse: { kind: 'manual' } }, async (_request, reply) => {
    const call = { signal: new AbortController().signal } as Call;
    await streamReplies({ reply, deps: { clock: systemClock } } as Exchange, call, envelopes());
  });
  const response = await fetch(await app.listen({ host: '127.0.0.1', port: 0 }), {
    headers: { accept: 'text/event-stream' },
  });
  let lineEnds = 0;
  for await (const chunk of response.body ?? [])
    lineEnds += chunk.filter((byte: number) => byte === 10).length;
  assert.equal(lineEnds, 2 * (EVENTS + 1_000));
  const [bytes = Infinity] = grown;
  assert.ok(bytes < 250, `each event of the stream leaves ${bytes} bytes`);
});

test('a stream that begins as the service closes has 2 s, too', deadline, async (t) => {
  const clock = manualClock();
  async function* envelopes() {
    for (;;) yield { text: 'x'.repeat(100_000) };
  }
  const app = fastify();
  t.after(() => app.close());
  await app.register(fastifySSE);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  app.get('/', { sse: { kind: 'manual' } }, async (_request, reply) => {
    const call = { signal: AbortSignal.abort(CLOSING) } as Call;
    const deps: { clock: Clock } = { clock };
    await streamReplies({ reply, deps } as Exchange, call, envelopes());
    resolve();
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  // It reads no body.
  const response = await fetch(url, { headers: { accept: 'text/event-stream' } });
  clock.advance(2_000);
  await ended;
  await assert.rejects(response.text());
});
