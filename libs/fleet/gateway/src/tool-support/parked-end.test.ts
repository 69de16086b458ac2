import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { CALLER, DONE, dispatching, type Script } from '../../testing/index.ts';
import { profile } from '../../testing/profile.ts';
import { waitWithoutSlot } from './wait-without-slot.ts';

for (const how of ['stop', 'cancel'] as const)
  it(`a run that waits for its slot to pass on a question of its part ends by a ${how}`, async (t) => {
    const asks = Promise.withResolvers<void>();
    const script: Script = async (task, { park, ask, signal, stopping }) => {
      const over = AbortSignal.any([signal, stopping]);
      const ended = new Promise<never>((_, reject) => {
        over.addEventListener('abort', () => reject(over.reason));
      });
      ended.catch(() => undefined);
      if (task.dispatch.brief === 'takes the slot') return ended;
      await waitWithoutSlot({ park, ask, key: '1.0' }, async (askFor) => {
        await Promise.race([asks.promise, ended]);
        await Promise.race([askFor('Which room?', { key: 'q' }), ended]);
      });
      return DONE;
    };
    const neo = await profile(t, { name: 'neo', script, fleet: { limits: { max_concurrent_tasks: 1 } } });
    const parent = await neo.send(dispatching({}, { brief: 'delegates' }));
    await neo.firstRun;
    const other = await neo.send(dispatching({}, { brief: 'takes the slot' }));
    await neo.event(other, 'started');
    asks.resolve();
    await systemClock.sleep(50);
    assert.equal(neo.gateway.queuedTasks(), 1);
    if (how === 'stop') await neo.gateway.stop(3_000);
    else await neo.gateway.cancel(parent, CALLER);
    assert.equal(neo.task(parent).state, how === 'stop' ? 'queued' : 'canceled');
  });
