import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dispatching, PREFERRED_FIRST, relayFleet } from '@hermes-fleet/gateway/testing';
import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError, isJsonObject } from '@hermes-fleet/protocol';

it('a task that a peer declined goes to the next one after a crash before the next attempt is durable', async (t) => {
  const declining = (real: Ledger): Ledger => ({
    ...real,
    accept: () => Promise.reject(new FleetError('UNSUPPORTED_OPERATION', 'no')),
  });
  const crashing = Promise.withResolvers<void>();
  let isAlive = true;
  const dyingAtTheNextAttempt = (real: Ledger): Ledger => ({
    ...real,
    saveCheckpoint(id, state, ...rest) {
      const peer = isJsonObject(state.current) ? state.current.peer : undefined;
      if (!isAlive || peer !== 'trinity') return real.saveCheckpoint(id, state, ...rest);
      crashing.resolve();
      return new Promise(() => undefined);
    },
  });
  const { neo, trinity } = PREFERRED_FIRST;
  const { orchestrator } = await relayFleet(
    t,
    { neo: { ...neo, ledger: declining }, trinity },
    { ledger: dyingAtTheNextAttempt },
  );
  const id = await orchestrator.send(dispatching());
  await crashing.promise;
  isAlive = false;
  await orchestrator.crash();
  await orchestrator.restart();
  const { status, executedBy, attempts } = await orchestrator.result(id);
  assert.deepEqual([status, executedBy], ['done', 'trinity']);
  assert.deepEqual(
    attempts?.map((attempt) => [attempt.peer, attempt.status]),
    [
      ['neo', 'refused'],
      ['trinity', 'done'],
    ],
  );
});
