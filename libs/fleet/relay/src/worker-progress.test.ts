import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asking,
  DONE,
  dispatching,
  relayFleet,
  type Script,
  spending,
  type TestProfile,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { manualClock } from '@hermes-fleet/protocol/testing';

const STARTED = { tool: 'terminal', phase: 'started', spent_tokens: 40, budget_tokens: 900 };
const ENDED = { tool: 'terminal', phase: 'ended', ok: true, spent_tokens: 70, budget_tokens: 900 };

/** The events of a task that have the worker's tool or tokens. */
const passedOn = (at: TestProfile, id: string): JsonObject[] =>
  at.ledger
    .events(id)
    .filter(({ type, data }) => type === 'progress' && data.state === undefined)
    .map(({ data }) => data);

/** Resolves with the next event of the worker that the relay passes on. */
async function nextPassedOn(at: TestProfile, id: string, after: number): Promise<JsonObject> {
  for await (const { type, data, seq } of at.ledger.watch(id, after, AbortSignal.timeout(20_000)))
    if (type === 'progress' && data.state === undefined) return { ...data, seq };
  throw new Error('the task has ended');
}

/** A worker that uses a tool, and goes on with each call of `next`: what it says before the relay's stream begins is lost. */
function stepping(last: Script): { readonly script: Script; next(): void } {
  let go = Promise.withResolvers<void>();
  const next = (): void => {
    go.resolve();
  };
  const script: Script = async (task, context) => {
    for (const data of [STARTED, ENDED]) {
      await go.promise;
      go = Promise.withResolvers();
      await context.reportEvent({ type: 'progress', data: { step: 1, ...data } });
    }
    await go.promise;
    return last(task, context);
  };
  return { script, next };
}

test("a relayed task has its worker's tool and tokens while it runs, books only those of the result, and counts no tool call", async (t) => {
  const clock = manualClock(Date.now());
  const neo = stepping(spending(65));
  const { orchestrator } = await relayFleet(t, { neo: { script: neo.script } }, { clock });
  const id = await orchestrator.send(dispatching({ token_budget: 900 }));
  await orchestrator.event(id, 'progress');
  neo.next();
  await clock.armed(1_000);
  assert.deepEqual(passedOn(orchestrator, id), []);
  clock.advance(1_000);
  const { seq, ...first } = await nextPassedOn(orchestrator, id, 0);
  assert.deepEqual(first, { peer: 'neo', ...STARTED });
  assert.deepEqual(orchestrator.ledger.tokens.entries(id), []);
  neo.next();
  await clock.armed(1_000);
  clock.advance(1_000);
  const { seq: _, ...second } = await nextPassedOn(orchestrator, id, Number(seq));
  const { ok: _ok, ...ended } = ENDED;
  assert.deepEqual(second, { peer: 'neo', ...ended });
  neo.next();
  const result = await orchestrator.result(id);
  assert.deepEqual([result.status, result.tokensSpent, result.usage?.delegatedTokens], ['done', 65, 65]);
  assert.equal(passedOn(orchestrator, id).length, 2);
  assert.equal(orchestrator.events(id).at(-1), 'done');
  assert.doesNotMatch(await orchestrator.metrics(), /fleet_tool_calls_total\{/);
});

test('a relayed task that ends within a second has no event of its worker, and none after its end', async (t) => {
  const clock = manualClock(Date.now());
  const script: Script = async (_task, { reportEvent }) => {
    await followed.promise;
    for (const data of [STARTED, ENDED]) await reportEvent({ type: 'progress', data });
    await observed;
    return DONE;
  };
  const observed = clock.armed(1_000);
  const followed = Promise.withResolvers<void>();
  const { orchestrator } = await relayFleet(t, { neo: { script } }, { clock });
  const id = await orchestrator.send(dispatching());
  await orchestrator.event(id, 'progress');
  followed.resolve();
  assert.equal((await orchestrator.result(id)).status, 'done');
  clock.advance(10_000);
  await orchestrator.gateway.stop(1_000);
  assert.deepEqual(passedOn(orchestrator, id), []);
  assert.equal(orchestrator.events(id).at(-1), 'done');
});

test('the tokens of a worker that asks within its first second come before its question', async (t) => {
  const clock = manualClock(Date.now());
  const followed = Promise.withResolvers<void>();
  const script: Script = async (task, context) => {
    await followed.promise;
    for (const data of [STARTED, ENDED]) await context.reportEvent({ type: 'progress', data });
    return asking('Which room?')(task, context);
  };
  const { orchestrator } = await relayFleet(t, { neo: { script } }, { clock });
  const id = await orchestrator.send(dispatching({ token_budget: 900 }));
  await orchestrator.event(id, 'progress');
  followed.resolve();
  await orchestrator.event(id, 'input_required');
  const { ok: _, ...ended } = ENDED;
  assert.deepEqual(passedOn(orchestrator, id), [{ peer: 'neo', ...ended }]);
  assert.deepEqual(orchestrator.events(id).slice(-2), ['progress', 'input_required']);
  assert.equal(orchestrator.task(id).state, 'input_required');
});

test('a crash between two events of a worker loses nothing but what was not reported yet', async (t) => {
  const clock = manualClock(Date.now());
  const neo = stepping(spending(13));
  const { orchestrator, worker } = await relayFleet(t, { neo: { script: neo.script } }, { clock });
  const id = await orchestrator.send(dispatching());
  await orchestrator.event(id, 'progress');
  neo.next();
  await clock.armed(1_000);
  await orchestrator.gateway.stop(1_000);
  assert.equal(clock.timers, 0);
  await orchestrator.crash();
  clock.advance(1_000);
  await orchestrator.restart(untilAborted);
  await orchestrator.event(id, 'progress', 2);
  neo.next();
  await clock.armed(1_000);
  clock.advance(1_000);
  const { spent_tokens, phase } = await nextPassedOn(orchestrator, id, 0);
  assert.deepEqual([spent_tokens, phase], [70, 'ended']);
  neo.next();
  const result = await orchestrator.result(id);
  assert.deepEqual([result.status, result.tokensSpent], ['done', 13]);
  assert.equal(worker('neo').runs.length, 1);
});
