import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLEET } from '@hermes-fleet/protocol/api';
import { fastify } from 'fastify';
import { serve } from './serve.ts';

test('a route answers what its schema says, which the compiler checks, and is sent as it is', async () => {
  const app = fastify();
  const cost = { running: 1, waiting: 2, 'of the future': 3 };
  serve(app, FLEET.drain, { bodyLimit: 10 }, () => cost);
  // @ts-expect-error: a field is missing
  serve(fastify(), FLEET.drain, () => ({ running: 1 }));
  // @ts-expect-error: a field has another type
  serve(fastify(), FLEET.drain, async () => ({ running: 1, waiting: '2' }));
  // @ts-expect-error: the path has no such parameter
  serve(fastify(), FLEET.cost, (request) => request.params.name);
  const post = (body: object) => app.inject({ method: 'POST', url: '/fleet/drain', body });
  assert.deepEqual((await post({})).json(), cost);
  assert.equal((await post({ a: 'long text' })).statusCode, 413);
});
