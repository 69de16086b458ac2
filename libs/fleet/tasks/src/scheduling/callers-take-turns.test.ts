import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLER, DONE, dispatching, profile } from '@hermes-fleet/gateway/testing';

test('a caller with one task does not wait for all tasks of another caller, before and after a restart', async (t) => {
  const gate = Promise.withResolvers<void>();
  const neo = await profile(t, {
    script: (_task, { stopping }) =>
      new Promise((resolve, reject) => {
        stopping.addEventListener('abort', () => reject(stopping.reason));
        gate.promise.then(() => resolve(DONE));
      }),
    fleet: { limits: { max_concurrent_tasks: 1 } },
  });
  const many: string[] = [];
  for (let sent = 0; sent < 6; sent += 1) many.push(await neo.send(dispatching()));
  const [running = '', ...others] = many;
  await neo.event(running, 'started');
  const one = await neo.send(dispatching(), { ...CALLER, name: 'somebody' });
  await neo.gateway.stop(5_000);
  await neo.crash();
  await neo.restart();
  await neo.event(running, 'started', 2);
  gate.resolve();
  await Promise.all([...many, one].map((id) => neo.result(id)));
  assert.deepEqual(neo.runs, [running, running, others[0], one, ...others.slice(1)]);
});
