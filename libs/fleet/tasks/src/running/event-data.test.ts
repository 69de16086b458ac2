import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  profile,
  type Script,
  type TestProfile,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';

/** The data of the last event of this type on its way to the bus. */
function last(of: TestProfile, type: string): Record<string, unknown> {
  const events = of.ledger.outbox.read(0, 1_000).filter(({ event }) => event.type.includes(`.${type}.`));
  return events.at(-1)?.event.data ?? assert.fail(`no ${type}`);
}

const pick = (data: Record<string, unknown>, ...names: string[]): unknown[] =>
  names.map((name) => data[name]);
const COST = [
  'tokens_spent',
  'own_tokens',
  'delegated_tokens',
  'model',
  'model_tier',
  'budget_tokens',
  'overrun',
];

/** Spends 30 tokens of its own and 990 of a peer. */
const spends: Script = async (_task, { budget }) => {
  const call = await budget.reserve({ inputTokens: 20, maxOutputTokens: 9 });
  const usage = {
    inputTokens: 20,
    outputTokens: 10,
    cacheReadTokens: 4,
    cacheWriteTokens: 3,
    reasoningTokens: 6,
  };
  await call.settle({ ...usage, model: 'the-other', source: 'metered' });
  await budget.addDelegated(990, 'peer');
  return { ...DONE, text: 'CANARY-text', output: 'CANARY-output', nextSteps: ['CANARY-next'] };
};

it('the event that ends a task says what it has cost', async (t) => {
  const neo = await profile(t, { script: spends, defaultBudget: 2_000 });
  await neo.result(await neo.send(dispatching()));
  assert.deepEqual(pick(last(neo, 'done'), ...COST), [1_020, 30, 990, 'the-other', 'sonnet', 2_000, false]);
  assert.deepEqual(last(neo, 'done').usage, {
    input_tokens: 20,
    output_tokens: 10,
    cache_read_tokens: 4,
    cache_write_tokens: 3,
    reasoning_tokens: 6,
  });
  await neo.result(await neo.send(dispatching({ token_budget: 1_000 })));
  assert.deepEqual(pick(last(neo, 'done'), 'budget_tokens', 'overrun'), [1_000, true]);
});

it('a blocked task says what was saved, where it entered the fleet', async (t) => {
  const neo = await profile(t);
  const send = async (task: JsonObject): Promise<Record<string, unknown>> => {
    const rest = { requirements: { required_mcp: ['nope'] } };
    await neo.result(await neo.send(dispatching({ token_budget: 700, ...task }, rest)));
    return last(neo, 'blocked');
  };
  const entered = await send({});
  assert.equal(entered.saved_tokens, 700);
  assert.deepEqual(pick(entered, ...COST), [0, 0, 0, null, 'sonnet', 700, false]);
  assert.match(await neo.metrics(), /fleet_tokens_saved_total 700/);
  assert.equal((await send({ path: ['switch'] })).saved_tokens, 0);
  assert.match(await neo.metrics(), /fleet_tokens_saved_total 700/);
});

it('a task that is canceled before it runs has cost nothing', async (t) => {
  const neo = await profile(t, {
    script: () => new Promise(() => undefined),
    fleet: { limits: { max_concurrent_tasks: 1 } },
  });
  await neo.send(dispatching());
  await neo.firstRun;
  const waiting = await neo.send(dispatching({ token_budget: 700 }));
  await neo.gateway.cancel(waiting, CALLER);
  assert.deepEqual(pick(last(neo, 'canceled'), ...COST), [0, 0, 0, null, 'sonnet', 700, false]);
});

it('no event has a brief, a text, an output or a question', async (t) => {
  const asks: Script = async (task, context) => {
    await context.reportEvent({ type: 'text', text: 'CANARY-delta' });
    await context.ask('CANARY-question?', { key: 'q' });
    return spends(task, context);
  };
  const neo = await profile(t, { script: asks });
  const id = await neo.send(dispatching({ reply_schema: 'json' }, { brief: 'CANARY-brief' }));
  await neo.event(id, 'input_required');
  await neo.send({
    taskId: id,
    text: 'CANARY-answer',
    raw: { messageId: 'a', parts: [{ text: 'CANARY-answer' }] },
  });
  await neo.result(id);
  const events = JSON.stringify(neo.ledger.outbox.read(0, 1_000));
  assert.match(events, /\.answered\./);
  assert.doesNotMatch(events, /CANARY/);
});
