import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLER, DONE, dispatching, relayFleet, type Script } from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';

const done: Script = async () => DONE;
const ONE_SLOT = { limits: { max_concurrent_tasks: 1 } };
/** Routing prefers neo for normal tasks and trinity for urgent ones. */
const WORKERS = {
  neo: { script: done, tier: 'sonnet', fleet: ONE_SLOT },
  trinity: { script: done, tier: 'opus', fleet: ONE_SLOT },
};

type Fleet = Awaited<ReturnType<typeof relayFleet>>;
const send = ({ orchestrator }: Fleet, priority: string, routing: JsonObject = {}, contextId = 'c') =>
  orchestrator.send({ ...dispatching({ priority }, { routing }), contextId });
const ended = async ({ orchestrator }: Fleet, id: string) => {
  const { status, executedBy, contextFresh } = await orchestrator.result(id);
  return [status, executedBy, contextFresh];
};

describe('a further task of a context', () => {
  it('goes to the worker that has the context, also after a restart; a new context goes by score', async (t) => {
    const fleet = await relayFleet(t, WORKERS);
    assert.deepEqual(await ended(fleet, await send(fleet, 'normal')), ['done', 'neo', undefined]);
    assert.deepEqual(await ended(fleet, await send(fleet, 'urgent')), ['done', 'neo', undefined]);
    await fleet.orchestrator.crash();
    await fleet.orchestrator.restart();
    for (const name of ['neo', 'trinity']) await fleet.hear(name);
    assert.deepEqual(await ended(fleet, await send(fleet, 'urgent')), ['done', 'neo', undefined]);
    assert.deepEqual(await ended(fleet, await send(fleet, 'urgent', {}, 'other')), [
      'done',
      'trinity',
      undefined,
    ]);
  });

  it('waits for a slot of that worker while another has one', async (t) => {
    const gate = Promise.withResolvers<void>();
    const script: Script = async ({ dispatch }) =>
      dispatch.brief === 'long' ? gate.promise.then(() => DONE) : Promise.resolve(DONE);
    const fleet = await relayFleet(t, { ...WORKERS, neo: { ...WORKERS.neo, script } });
    await ended(fleet, await send(fleet, 'normal'));
    const busy = await fleet.orchestrator.send(
      dispatching({}, { brief: 'long', routing: { target: 'neo' } }),
    );
    await fleet.orchestrator.event(busy, 'delegated');
    const id = await send(fleet, 'normal');
    const { reason } = await fleet.orchestrator.event(id, 'queued', 2);
    assert.equal(reason, 'capacity');
    gate.resolve();
    await fleet.orchestrator.result(busy);
    assert.deepEqual(await ended(fleet, id), ['done', 'neo', undefined]);
  });

  it('goes elsewhere when its patience is over, and says that it started anew', async (t) => {
    const neverDone: Script = (task, context) =>
      task.dispatch.brief === 'long'
        ? new Promise((_resolve, reject) =>
            context.signal.addEventListener('abort', () => reject(context.signal.reason)),
          )
        : done(task, context);
    const fleet = await relayFleet(
      t,
      { ...WORKERS, neo: { ...WORKERS.neo, script: neverDone } },
      { fleet: { routing: { patience_s: 0.5 } } },
    );
    await ended(fleet, await send(fleet, 'normal'));
    const busy = await fleet.orchestrator.send(
      dispatching({}, { brief: 'long', routing: { target: 'neo' } }),
    );
    await fleet.orchestrator.event(busy, 'delegated');
    const id = await send(fleet, 'normal');
    assert.deepEqual(await ended(fleet, id), ['done', 'trinity', true]);
    assert.deepEqual(
      await ended(fleet, await send(fleet, 'normal')),
      ['done', 'trinity', undefined],
      'it lives there now',
    );
    await fleet.orchestrator.gateway.cancel(busy, CALLER);
  });

  it('goes elsewhere at once when more than a free slot is missing there', async (t) => {
    const fleet = await relayFleet(t, WORKERS);
    await ended(fleet, await send(fleet, 'normal'));
    fleet.worker('neo').facts.usable = false;
    await fleet.hear('neo');
    const startedAt = performance.now();
    assert.deepEqual(await ended(fleet, await send(fleet, 'normal')), ['done', 'trinity', true]);
    assert.ok(performance.now() - startedAt < 9_000, 'it did not wait out its patience');
  });

  it('with `fail`, goes elsewhere at once when that worker has no free slot', async (t) => {
    const gate = Promise.withResolvers<void>();
    const script: Script = async ({ dispatch }) => {
      if (dispatch.brief === 'long') await gate.promise;
      return DONE;
    };
    const fleet = await relayFleet(t, { ...WORKERS, neo: { ...WORKERS.neo, script } });
    await ended(fleet, await send(fleet, 'normal'));
    const busy = await fleet.orchestrator.send(
      dispatching({}, { brief: 'long', routing: { target: 'neo' } }),
    );
    await fleet.orchestrator.event(busy, 'delegated');
    const id = await send(fleet, 'normal', { on_blocked: 'fail' });
    assert.deepEqual(await ended(fleet, id), ['done', 'trinity', true]);
    gate.resolve();
  });

  it('lives where a worker began the work, not where one was asked last', async (t) => {
    const fleet = await relayFleet(t, WORKERS);
    fleet.worker('neo').facts.usable = false;
    const waits = await send(fleet, 'normal', { target: 'neo' });
    await fleet.orchestrator.event(waits, 'queued', 2);
    await fleet.orchestrator.gateway.cancel(waits, CALLER);
    assert.deepEqual(await ended(fleet, await send(fleet, 'urgent')), ['done', 'trinity', undefined]);
  });

  it('that a worker refused does not live there', async (t) => {
    const fleet = await relayFleet(t, WORKERS);
    fleet.worker('neo').facts.usable = false;
    const refused = await send(fleet, 'normal', { target: 'neo', on_blocked: 'fail' });
    assert.equal((await fleet.orchestrator.result(refused)).status, 'blocked');
    assert.deepEqual(await ended(fleet, await send(fleet, 'urgent')), ['done', 'trinity', undefined]);
  });
});
