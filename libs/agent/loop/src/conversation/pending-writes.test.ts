import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '@hermes-fleet/protocol';
import type { RunEvent, RunOutcome, TokenStore } from '@hermes-fleet/protocol/ports';
import { makeAgent, makeContext, makeTask, memoryTokens, type TestRun } from '../../testing/harness.ts';
import { call, env, KEYED, type Reply, say, scriptedServer } from '../../testing/scripted-server.ts';
import { AgentConfigSchema } from '../config/config-yaml.ts';
import { callModel } from '../model/call/model-call.ts';
import { createModel } from '../model/create-model.ts';
import { createPendingWrites } from './pending-writes.ts';

test('the first error is thrown once, after all writes have ended', async () => {
  const writes = createPendingWrites();
  await writes.durable();
  const slow = Promise.withResolvers<void>();
  writes.add(Promise.reject(new Error('first')), slow.promise);
  writes.add(Promise.reject(new Error('second')));
  let isThrown = false;
  const waiting = writes.durable().finally(() => {
    isThrown = true;
  });
  waiting.catch(() => {});
  await new Promise(setImmediate);
  assert.equal(isThrown, false);
  slow.resolve();
  await assert.rejects(waiting, /first/);
  await writes.durable();
});

/** Long enough to observe a command or a model call that started too early. */
const LONG_MS = 300;

type Save = (count: number) => Promise<void>;

/** The first two answers call a tool; the others finish. */
const twoCalls = (turn: number): Reply =>
  turn > 2
    ? say('Done.')
    : {
        deltas: [{ content: 'Now. ' }, call('c', 'write_file', { path: `${turn}.txt`, content: 'x' })],
        finish: 'tool_calls',
      };

/** A run whose model writes a file in each of its first two steps, with observers. */
async function bench(t: TestContext, store: TokenStore = memoryTokens()) {
  const server = await scriptedServer(t, twoCalls);
  const agent = await makeAgent(
    t,
    { ...KEYED, base_url: server.url, hooks: { verifyBeforeComplete: false } },
    { env },
  );
  const tree = join(agent.place.workspaceRoot, 'contexts', 'context-1', 'tree');
  const context = makeContext({ store });
  const written = (): number => [1, 2].filter((n) => existsSync(join(tree, `${n}.txt`))).length;
  let saves = 0;
  const run = (save: Save, reportEvent = context.reportEvent): Promise<RunOutcome> =>
    agent.executor.run(makeTask('Write.', { task: { write: true } }), {
      ...context,
      reportEvent,
      checkpoint: {
        load: () => undefined,
        save: async () => {
          saves += 1;
          await save(saves);
        },
      },
    });
  return { run, written, context, calls: () => server.requests.length };
}

const full = new FleetError('STORE_UNAVAILABLE', 'disk full');

test('tool calls and model calls start only after all earlier writes are durable', async (t) => {
  const { run, written, calls } = await bench(t);
  const seen: string[] = [];
  const result = await run(async () => {
    const before = [written(), calls()];
    await sleep(LONG_MS);
    assert.deepEqual([written(), calls()], before);
    seen.push(`${before}`);
  });
  assert.equal(result.status, 'done');
  for (const each of ['0,1', '1,1', '1,2', '2,2']) assert.ok(seen.includes(each), `${each} of ${seen}`);
});

test('a tool call waits for the settlement of its step, and a failed settlement ends the run', async (t) => {
  const tokens = memoryTokens();
  let settlements = 0;
  const { run, written, calls } = await bench(t, {
    ...tokens,
    async settle(id, entry) {
      settlements += 1;
      const before = written();
      await sleep(LONG_MS);
      assert.equal(written(), before);
      if (settlements === 2) throw full;
      await tokens.settle(id, entry);
    },
  });
  await assert.rejects(
    run(async () => {}),
    full,
  );
  assert.deepEqual([settlements, written(), calls()], [2, 1, 2]);
});

test('a failed save ends the run before the next call, also the last save', async (t) => {
  const whole = await bench(t);
  let total = 0;
  await whole.run(async (count) => {
    total = count;
  });
  assert.equal(total, 5);
  for (let failing = 1; failing <= total; failing += 1) {
    const { run, written, calls, context } = await bench(t);
    const failed = run(async (count) => {
      if (count === failing) throw full;
    });
    await assert.rejects(failed, full, `save ${failing}`);
    assert.deepEqual(
      [written(), calls()],
      [Math.floor(failing / 2), Math.ceil(failing / 2)],
      `save ${failing}`,
    );
    const last = context.events.findLast(({ type }) => type === 'progress');
    const told = last?.type === 'progress' ? last.data.spent_tokens : undefined;
    assert.equal(context.budget.spent(), told, `save ${failing}: a call that was not made is charged`);
  }
});

test('an abort during a save starts no further call', async (t) => {
  for (const code of ['SHUTTING_DOWN', 'CANCELED'] as const) {
    const reason = new FleetError(code, 'it is over');
    const { run, written, context } = await bench(t);
    const running = run(async (count) => {
      if (count !== 1) return;
      await sleep(10);
      context.controller.abort(reason);
    });
    if (code === 'CANCELED') assert.equal((await running).error?.code, 'canceled');
    else await assert.rejects(running, reason);
    assert.equal(written(), 0);
  }
});

test('a model call that is never made costs nothing', async (t) => {
  const server = await scriptedServer(t, () => say('x'));
  const config = AgentConfigSchema.parse({ ...KEYED, base_url: server.url });
  const model = await createModel(config, 'sonnet', env);
  const reason = new Error('canceled');
  const ends: readonly ((context: TestRun) => void)[] = [
    (context) => context.controller.abort(reason),
    () => {
      throw reason;
    },
  ];
  for (const end of ends) {
    const context = makeContext({ limit: 100_000 });
    const { budget, signal } = context;
    const step = callModel({
      model,
      budget,
      signal,
      keepTokens: 0,
      instructions: 'x',
      tools: () => ({}),
      toolsOff: false,
      messages: [{ role: 'user', content: 'hi' }],
      inputTokens: 5_000,
      maxOutputTokens: 1_000,
      onText: () => {},
      ready: async () => end(context),
    });
    await assert.rejects(step, reason);
    assert.deepEqual([server.requests.length, budget.spent()], [0, 0]);
  }
});

test('events keep their order and their token counts, however slow the ledger is', async (t) => {
  const { run, context } = await bench(t);
  const stored: RunEvent[] = [];
  let chain = Promise.resolve();
  await run(
    async () => {},
    (event) => {
      chain = chain.then(async () => {
        await sleep(event.type === 'text' ? LONG_MS : 1);
        stored.push(event);
      });
      return chain;
    },
  );
  const order = stored.map((event) =>
    event.type === 'progress' ? String(event.data.phase ?? `step ${event.data.step}`) : event.type,
  );
  const step = (n: number): string[] => ['text', `step ${n}`, 'started', 'ended'];
  assert.deepEqual(order, [...step(1), ...step(2), 'text', 'step 3']);
  const spent = stored.flatMap((event) => (event.type === 'progress' ? Number(event.data.spent_tokens) : []));
  assert.deepEqual(
    spent,
    spent.toSorted((a, b) => a - b),
  );
  assert.equal(spent.at(-1), context.budget.spent());
});
