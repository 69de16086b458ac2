import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError, type RunContext, type RunOutcome } from '@hermes-fleet/protocol';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';
import { createWrites } from './writes.ts';

test('who waits is told of the first that failed, once all have ended, and only once', async () => {
  const writes = createWrites();
  await writes.durable();
  const slow = Promise.withResolvers<void>();
  writes.begun(Promise.reject(new Error('first')), slow.promise);
  writes.begun(Promise.reject(new Error('second')));
  let told = false;
  const waiting = writes.durable().finally(() => {
    told = true;
  });
  waiting.catch(() => {});
  await new Promise(setImmediate);
  assert.equal(told, false);
  slow.resolve();
  await assert.rejects(waiting, /first/);
  await writes.durable();
});

/** Long enough for a command or a step of the runbook that was started to be seen. */
const LONG_MS = 300;
const TWO = [1, 2].map((n) => block('sh', `echo > ran-${n}`)).join('\n');

/** An agent with a task of two commands, one a step, and what can be seen of it. */
async function bench(t: TestContext) {
  const agent = await makeAgent(t);
  const tree = join(agent.place.workspaceRoot, 'contexts', 'context-1');
  const context = makeContext();
  const run = (save: RunContext['checkpoint']['save']): Promise<RunOutcome> =>
    agent.executor.run(makeTask(TWO), { ...context, checkpoint: { load: () => undefined, save } });
  const ran = (): number => [1, 2].filter((n) => existsSync(join(tree, `ran-${n}`))).length;
  return { run, ran, context };
}

test('neither a call nor the model begins before what came before it is durable', async (t) => {
  const { run, ran, context } = await bench(t);
  const seen = (): string =>
    `${ran()} ran, ${context.events.length} events, ${context.budget.spent()} tokens`;
  const saved: number[] = [];
  const result = await run(async () => {
    // What is booked or told in the same commit.
    await new Promise(setImmediate);
    const before = seen();
    await sleep(LONG_MS);
    assert.equal(seen(), before);
    saved.push(ran());
  });
  assert.equal(result.status, 'done');
  assert.deepEqual([...new Set(saved)], [0, 1, 2]);
});

test('a save that fails ends the run before the next call', async (t) => {
  const { run, ran, context } = await bench(t);
  let saves = 0;
  const running = run(async () => {
    saves += 1;
    if (saves > 1) throw new FleetError('STORE_UNAVAILABLE', 'disk full');
  });
  await assert.rejects(running, { code: 'STORE_UNAVAILABLE' });
  assert.equal(ran(), 1);
  const steps = context.events.filter(
    ({ type, ...rest }) => type === 'progress' && !JSON.stringify(rest).includes('phase'),
  );
  assert.equal(steps.length, 1);
});
