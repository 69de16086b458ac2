import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp } from '../../testing/start-app.ts';

test('closing waits for a running request', async (t) => {
  const entered = Promise.withResolvers<void>();
  const leave = Promise.withResolvers<void>();
  const { app, url } = await startApp(t, {
    authenticate: undefined,
    routes: (instance) =>
      instance.get('/slow', async () => {
        entered.resolve();
        await leave.promise;
        return { done: true };
      }),
  });
  const running = fetch(`${url}/slow`);
  await entered.promise;
  const closed = app.close();
  leave.resolve();
  const reply = await running;
  assert.deepEqual([reply.status, await reply.json()], [200, { done: true }]);
  await closed;
});

test('closing rejects new requests with a retryable error', async (t) => {
  const hold = Promise.withResolvers<void>();
  const closing = Promise.withResolvers<void>();
  const { app, url } = await startApp(t, {
    routes: (instance) =>
      instance.addHook('preClose', () => {
        closing.resolve();
        return hold.promise;
      }),
  });
  const closed = app.close();
  await closing.promise;
  const reply = await fetch(`${url}/health`);
  assert.equal(reply.status, 503);
  assert.equal(reply.headers.get('retry-after'), '1');
  assert.deepEqual(await reply.json(), {
    error: { code: 'SHUTTING_DOWN', message: 'neo is stopping; try again', fields: [] },
  });
  hold.resolve();
  await closed;
});

test('closing does not wait forever for a hanging handler', async (t) => {
  const entered = Promise.withResolvers<void>();
  const { app, url } = await startApp(t, {
    authenticate: undefined,
    closeGraceMs: 50,
    routes: (instance) =>
      instance.get('/hang', () => {
        entered.resolve();
        return new Promise(() => {});
      }),
  });
  const running = assert.rejects(fetch(`${url}/hang`));
  await entered.promise;
  await app.close();
  await running;
});
