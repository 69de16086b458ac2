import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  dispatching,
  PREFERRED_FIRST,
  relayFleet,
  type Script,
  spending,
} from '@hermes-fleet/gateway/testing';
import { FleetError } from '@hermes-fleet/protocol';

/** A worker whose model is away: the input of its call may have been metered. */
const withoutModel =
  (inputTokens: number): Script =>
  async (_task, { budget }) => {
    const call = await budget.reserve({ inputTokens: Math.max(1, inputTokens), maxOutputTokens: 10 });
    await call.settle({ inputTokens, outputTokens: 0, source: 'metered' });
    throw new FleetError('MODEL_FAILED', "the model's provider is away", { retryable: true });
  };

describe('a task that fails before a model answers', () => {
  for (const tokens of [0, 7])
    it(`goes to the next worker, with ${tokens} tokens of input metered`, async (t) => {
      const workers = { ...PREFERRED_FIRST, neo: { script: withoutModel(tokens), tier: 'sonnet' } };
      const { orchestrator } = await relayFleet(t, workers);
      const id = await orchestrator.send(dispatching());
      const result = await orchestrator.result(id);
      assert.deepEqual(
        [result.status, result.executedBy, result.tokensSpent],
        ['done', 'trinity', 1 + tokens],
      );
      assert.deepEqual(
        result.attempts?.map(({ peer, status, reason }) => [peer, status, reason]),
        [
          ['neo', 'failed', "model_failed: the model's provider is away"],
          ['trinity', 'done', null],
        ],
      );
      assert.match(
        await orchestrator.metrics(),
        /fleet_task_reroutes_total\{from="neo",to="trinity",reason="failed"\} 1/,
      );
      const rateOf = (name: string) => orchestrator.peers.get(name)?.blockedRate ?? Number.NaN;
      assert.ok(rateOf('neo') > rateOf('trinity'), 'it costs the worker score');
    });

  it('goes to the next worker when the machine has no room left for a process', async (t) => {
    const full: Script = async () => {
      throw new FleetError('CAPACITY', 'a process cannot be started now (EAGAIN)');
    };
    const { orchestrator } = await relayFleet(t, {
      ...PREFERRED_FIRST,
      neo: { script: full, tier: 'sonnet' },
    });
    const result = await orchestrator.result(await orchestrator.send(dispatching()));
    assert.deepEqual([result.status, result.executedBy], ['done', 'trinity']);
    assert.match(result.attempts?.[0]?.reason ?? '', /^capacity: .*EAGAIN/);
  });

  it('keeps its own error when no other worker can take it', async (t) => {
    const { orchestrator } = await relayFleet(t, { neo: { script: withoutModel(0) } });
    const { status, error, attempts } = await orchestrator.result(await orchestrator.send(dispatching()));
    assert.deepEqual([status, error?.code, attempts?.length], ['error', 'model_failed', 1]);
  });

  it('keeps its own error with `fail`', async (t) => {
    const workers = { ...PREFERRED_FIRST, neo: { script: withoutModel(0), tier: 'sonnet' } };
    const { orchestrator } = await relayFleet(t, workers);
    const id = await orchestrator.send(dispatching({}, { routing: { on_blocked: 'fail' } }));
    assert.deepEqual((await orchestrator.result(id)).error?.code, 'model_failed');
  });

  it('does not go elsewhere once the model has answered', async (t) => {
    const script: Script = async (_task, { budget }) => {
      const call = await budget.reserve({ inputTokens: 5, maxOutputTokens: 5 });
      await call.settle({ inputTokens: 5, outputTokens: 1, source: 'metered' });
      throw new FleetError('MODEL_FAILED', 'the second call failed', { retryable: true });
    };
    const { orchestrator, worker } = await relayFleet(t, {
      ...PREFERRED_FIRST,
      neo: { script, tier: 'sonnet' },
    });
    const result = await orchestrator.result(await orchestrator.send(dispatching()));
    assert.deepEqual([result.status, result.error?.code], ['error', 'model_failed']);
    assert.deepEqual(worker('trinity').runs, []);
  });

  it('three in a row open the circuit of the worker, although it answers; a task that it does closes it', async (t) => {
    let broken = true;
    const script: Script = (task, context) => (broken ? withoutModel(0) : spending(1))(task, context);
    const { orchestrator, worker, hear } = await relayFleet(t, {
      ...PREFERRED_FIRST,
      neo: { script, tier: 'sonnet' },
    });
    const send = async (routing = {}) =>
      orchestrator.result(await orchestrator.send(dispatching({}, { routing })));
    for (let sent = 0; sent < 3; sent += 1) assert.equal((await send()).executedBy, 'trinity');
    await hear('neo');
    assert.ok(
      (orchestrator.peers.get('neo')?.circuitOpenUntil ?? 0) > Date.now(),
      'an announce does not close it',
    );
    await send();
    assert.equal(worker('neo').runs.length, 3, 'the fourth task is not sent there');
    broken = false;
    assert.equal((await send({ target: 'neo' })).status, 'done', 'it waits for the circuit to close');
    assert.equal(orchestrator.peers.get('neo')?.circuitOpenUntil, 0);
  });

  it('a refusal in between says nothing about the worker: the third failure opens the circuit', async (t) => {
    const workers = { ...PREFERRED_FIRST, neo: { script: withoutModel(0), tier: 'sonnet' } };
    const { orchestrator, worker, hear } = await relayFleet(t, workers);
    const send = async () => orchestrator.result(await orchestrator.send(dispatching()));
    for (let sent = 0; sent < 2; sent += 1) await send();
    worker('neo').facts.usable = false;
    assert.deepEqual(
      (await send()).attempts?.map(({ status }) => status),
      ['blocked', 'done'],
    );
    worker('neo').facts.usable = true;
    await hear('neo');
    assert.equal(orchestrator.peers.get('neo')?.circuitOpenUntil, 0);
    await send();
    assert.ok((orchestrator.peers.get('neo')?.circuitOpenUntil ?? 0) > Date.now());
  });
});
