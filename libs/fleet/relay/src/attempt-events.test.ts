import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dispatching, PREFERRED_FIRST, relayFleet, type TestProfile } from '@hermes-fleet/gateway/testing';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

const FAIL = { routing: { on_blocked: 'fail' } };

/** The events of a task about its attempts, as they go to the bus. */
function attempts(of: TestProfile, id: string): Record<string, unknown>[] {
  return of.ledger.outbox
    .read(0, 1_000)
    .filter(({ event }) => event.subject === id && event.data.peer !== undefined)
    .map(({ event }) => event.data)
    .filter(({ attempt }) => attempt !== undefined);
}

const outcomes = (of: TestProfile, id: string): unknown[] =>
  attempts(of, id)
    .filter(({ outcome }) => outcome !== undefined)
    .map(({ peer, attempt, outcome, unmet, error }) => [peer, attempt, outcome, unmet, error]);

/** The reasons of the last choice, by peer. */
function reasons(of: TestProfile, id: string): Record<string, unknown> {
  const considered = attempts(of, id).findLast((data) => data.considered !== undefined)?.considered;
  assert.ok(Array.isArray(considered));
  return Object.fromEntries(
    considered.map((each: unknown) => {
      assert.ok(isJsonObject(each));
      return [each.peer, each.reasons];
    }),
  );
}

describe('the events of a relayed task', () => {
  it('say why each peer was chosen or not, and what became of each attempt', async (t) => {
    const { orchestrator, worker } = await relayFleet(t, PREFERRED_FIRST);
    worker('neo').facts.usable = false;
    const id = await orchestrator.send(dispatching());
    assert.equal((await orchestrator.result(id)).executedBy, 'trinity');
    assert.deepEqual(outcomes(orchestrator, id), [['neo', 1, 'refused', ['repo'], undefined]]);
    const { neo, trinity } = reasons(orchestrator, id);
    assert.ok(Array.isArray(neo) && neo.includes('has already refused'), String(neo));
    assert.ok(Array.isArray(trinity) && trinity.includes('tier opus 1 off the preferred'), String(trinity));
    assert.deepEqual(orchestrator.events(id).slice(-2), ['progress', 'done']);
  });

  it('say it of an attempt that is the last, also if its peer cannot be reached', async (t) => {
    const { orchestrator, worker } = await relayFleet(t, { neo: {} });
    await worker('neo').end();
    const id = await orchestrator.send(dispatching({}, FAIL));
    assert.equal((await orchestrator.result(id)).status, 'blocked');
    assert.deepEqual(outcomes(orchestrator, id), [['neo', 1, 'unreachable', [], undefined]]);
  });

  it('say it of a peer that failed before it began', async (t) => {
    const failed = new FleetError('MODEL_FAILED', 'CANARY-message');
    const { orchestrator } = await relayFleet(t, {
      neo: { script: () => Promise.reject(failed), tier: 'sonnet' },
      trinity: { tier: 'opus' },
    });
    const id = await orchestrator.send(dispatching());
    await orchestrator.result(id);
    assert.deepEqual(outcomes(orchestrator, id), [['neo', 1, 'failed', [], 'model_failed']]);
  });

  it('have no words of the task, of a refusal or of a result', async (t) => {
    const { orchestrator, worker } = await relayFleet(t, PREFERRED_FIRST);
    worker('neo').facts.usable = false;
    const brief: JsonObject = { brief: 'CANARY-brief' };
    const id = await orchestrator.send(dispatching({}, brief));
    const result = await orchestrator.result(id);
    assert.match(result.text ?? '', /CANARY/);
    assert.match(result.attempts?.[0]?.reason ?? '', /base\.git/);
    for (const at of [orchestrator, worker('neo'), worker('trinity')]) {
      const events = JSON.stringify(at.ledger.outbox.read(0, 1_000));
      assert.doesNotMatch(events, /CANARY|base\.git/);
    }
  });
});
