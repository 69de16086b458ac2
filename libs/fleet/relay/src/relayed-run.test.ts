import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { type AdmittedTask, type RunContext, systemClock } from '@hermes-fleet/protocol/ports';
import { createRelayedRun, type RelayedRun } from './relayed-run.ts';

const TASK = { id: 't', dispatch: {} } as unknown as AdmittedTask;
const failure = new FleetError('STORE_UNAVAILABLE', 'no space');

/** A run with a checkpoint that can fail. */
function setUp(): { run: RelayedRun; store: { fails: boolean; kept: JsonObject[] } } {
  const store = { fails: false, kept: [] as JsonObject[] };
  const checkpoint = {
    load: () => undefined,
    async save(state: JsonObject) {
      if (store.fails) throw failure;
      store.kept.push(state);
    },
  };
  const context = { checkpoint } as unknown as RunContext;
  return {
    run: createRelayedRun(TASK, context, { clock: systemClock, onBlocked: 'queue', maxAttempts: 3 }),
    store,
  };
}

it('a change that could not be written is taken back, and what was noted before is written by the next flush', async () => {
  const { run, store } = setUp();
  run.note({ turnedAway: 2 });
  store.fails = true;
  await assert.rejects(run.save({ refused: 1 }), failure);
  assert.deepEqual([run.state.refused, run.state.turnedAway], [0, 2]);
  store.fails = false;
  await run.flush();
  assert.deepEqual(
    store.kept.map(({ refused, turnedAway }) => [refused, turnedAway]),
    [[0, 2]],
  );
});

it('a change is kept when it was written and a write that was told before was not', async () => {
  const { run } = setUp();
  run.tell(Promise.reject(failure));
  await assert.rejects(run.save({ refused: 1 }), failure);
  assert.equal(run.state.refused, 1);
});

it('each attempt at a peer has a later accept_until, also when an announce that came late sets its clock back', () => {
  const { run } = setUp();
  const at = 1_000_000;
  assert.equal(run.acceptUntil('neo', at), at);
  assert.equal(run.acceptUntil('neo', at - 2_000), at + 1);
  assert.equal(run.acceptUntil('trinity', at - 2_000), at - 2_000);
  assert.equal(run.acceptUntil('neo', at + 500), at + 500);
});
