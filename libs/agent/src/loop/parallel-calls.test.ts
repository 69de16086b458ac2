import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { defineTool, FleetError, type JsonObject, type Tool, type ToolCall } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { scriptedAgent } from '../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../testing/scripted-server.ts';

/** Calls that do not run at the same time wait for each other for ever. */
const deadline = { timeout: 120_000 };

const results = ({ messages }: ChatRequest): string[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));

interface Running {
  /** Names of calls that began and ended, in this order. */
  readonly log: string[];
  /** Resolves when so many calls run. */
  reached(count: number): Promise<void>;
}

/** Tools whose calls end when a test says so. */
function watched(act: (name: string, call: ToolCall, running: Running) => Promise<string>) {
  const log: string[] = [];
  let running = 0;
  let waiting: { count: number; resolve: () => void }[] = [];
  const state: Running = {
    log,
    reached(count) {
      if (running >= count) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ count, resolve });
      return promise;
    },
  };
  const make = (
    name: string,
    rest: { mutates: boolean; repeatable?: boolean; isConcurrent?: boolean },
  ): Tool =>
    defineTool({
      name,
      description: name,
      inputSchema: z.strictObject({ name: z.string() }),
      ...rest,
      async run({ name: called }, call) {
        log.push(`+${called}`);
        running += 1;
        for (const { count, resolve } of waiting) if (running >= count) resolve();
        waiting = waiting.filter(({ count }) => running < count);
        try {
          return { ok: true, output: await act(called, call, state), detail: called };
        } finally {
          running -= 1;
          log.push(`-${called}`);
        }
      },
    });
  const tools = [
    make('probe_read', { mutates: false }),
    make('probe_write', { mutates: true }),
    make('probe_send', { mutates: true, repeatable: true, isConcurrent: true }),
  ];
  return { log, toolSources: [async () => tools] };
}

const calls = (...names: string[]): [string, object][] =>
  names.map((name) => [`probe_${name[0] === 'r' ? 'read' : name[0] === 'w' ? 'write' : 'send'}`, { name }]);

const scripted = (
  t: TestContext,
  steps: readonly Reply[],
  tools: ReturnType<typeof watched>,
  window = 200_000,
) =>
  scriptedAgent(
    t,
    (_, { messages }) => steps[messages.filter(({ role }) => role === 'assistant').length] ?? say('Done.'),
    { context_window: window },
    { toolSources: tools.toolSources },
  );

test(
  'reads and delegations run at the same time, and their results are in the order of the calls',
  deadline,
  async (t) => {
    const ended = new Map<string, PromiseWithResolvers<void>>();
    const endOf = (name: string) => {
      const known = ended.get(name) ?? Promise.withResolvers<void>();
      ended.set(name, known);
      return known;
    };
    // Each call ends only after the one behind it, so the last is the first to end.
    const tools = watched(async (name, _call, { reached }) => {
      await reached(4);
      if (name !== 's4') await endOf(`${name[0]}${Number(name[1]) + 1}`.replace(/.4/, 's4')).promise;
      endOf(name).resolve();
      return `result of ${name}`;
    });
    const run = await scripted(t, [use(calls('r1', 'r2', 'r3', 's4'))], tools);
    const { requests, context } = await run();
    assert.deepEqual(
      results(requests.at(-1) ?? assert.fail()),
      ['r1', 'r2', 'r3', 's4'].map((n) => `result of ${n}`),
    );
    assert.deepEqual(tools.log, ['+r1', '+r2', '+r3', '+s4', '-s4', '-r3', '-r2', '-r1']);
    const phases = context.events.flatMap((event) =>
      event.type === 'progress' && event.data.phase !== undefined ? [event.data.phase] : [],
    );
    assert.deepEqual(phases, [...Array(4).fill('started'), ...Array(4).fill('ended')]);
  },
);

test(
  'a call that changes things runs alone, after all before it and before all after it',
  deadline,
  async (t) => {
    const tools = watched(async (name, _call, { reached }) => {
      if (name.startsWith('r')) await reached(2);
      return name;
    });
    const run = await scripted(t, [use(calls('r1', 'r2', 'w1', 'w2', 'r3', 'r4'))], tools);
    await run();
    const [a, b, c, d, ...rest] = tools.log;
    assert.deepEqual([a, b, c?.[0], d?.[0]], ['+r1', '+r2', '-', '-']);
    assert.deepEqual(rest.slice(0, 6), ['+w1', '-w1', '+w2', '-w2', '+r3', '+r4']);
  },
);

test(
  'at most 8 calls run at the same time, and fewer where their results might fill the window',
  deadline,
  async (t) => {
    for (const [window, expected] of [
      [200_000, 8],
      [32_768, 2],
      [12_000, 1],
    ] as const) {
      let most = 0;
      let now = 0;
      const tools = watched(async (_name, _call, { reached }) => {
        now += 1;
        most = Math.max(most, now);
        await reached(expected);
        now -= 1;
        return 'x';
      });
      const names = Array.from({ length: 16 }, (_, at) => `r${at}`);
      const run = await scripted(t, [use(calls(...names))], tools, window);
      await run({ contextId: `w${window}` });
      assert.equal(most, expected, String(window));
      assert.equal(tools.log.length, 32);
    }
  },
);

/** Rejects with the signal's reason. */
const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

const killed = new FleetError('SHUTTING_DOWN', 'killed');

test(
  'after a crash with several running calls, those without a result are called again with their memos',
  deadline,
  async (t) => {
    let isFirst = true;
    const loaded: [string, JsonObject | undefined][] = [];
    const crash = Promise.withResolvers<void>();
    const tools = watched(async (name, call, { reached }) => {
      loaded.push([name, call.memo.load()]);
      if (!isFirst) return `again ${name}`;
      await call.memo.save({ of: name });
      await reached(3);
      if (name === 's1') return 'first';
      crash.resolve();
      return await abortOf(call.signal);
    });
    const run = await scripted(t, [use(calls('s1', 's2', 's3', 'w4'))], tools);
    let checkpoint: JsonObject | undefined;
    const crashed = run({
      contextId: 'crash',
      onSave: (_, context) => {
        checkpoint = context.checkpoints.at(-1);
        const isAnswered = JSON.stringify(checkpoint).includes('"first"');
        if (isAnswered) void crash.promise.then(() => context.controller.abort(killed));
      },
    });
    await assert.rejects(crashed, killed);
    isFirst = false;
    loaded.length = 0;
    tools.log.length = 0;
    const { requests } = await run({ contextId: 'crash', checkpoint: checkpoint ?? assert.fail() });
    assert.deepEqual(loaded, [
      ['s2', { of: 's2' }],
      ['s3', { of: 's3' }],
      ['w4', undefined],
    ]);
    assert.deepEqual(results(requests.at(-1) ?? assert.fail()), [
      'first',
      'again s2',
      'again s3',
      'again w4',
    ]);
  },
);

test(
  'a stop waits for all running calls, and the next start calls those without a result again',
  deadline,
  async (t) => {
    let stops = true;
    const tools = watched(async (name, { stopping }, { reached }) => {
      if (!stops) return `again ${name}`;
      await reached(2);
      if (name === 'r1') return name;
      return await abortOf(stopping);
    });
    const run = await scripted(t, [use(calls('s2', 'r1', 'w3'))], tools);
    let checkpoint: JsonObject | undefined;
    const stopped = run({
      contextId: 'stop',
      onSave: (_, context) => {
        checkpoint = context.checkpoints.at(-1);
      },
      onProgress: (context) => {
        if (tools.log.includes('-r1')) context.pausing.abort(killed);
        else
          queueMicrotask(() =>
            setImmediate(() => tools.log.includes('+r1') && context.pausing.abort(killed)),
          );
      },
    });
    await assert.rejects(stopped, killed);
    stops = false;
    const { requests } = await run({ contextId: 'stop', checkpoint: checkpoint ?? assert.fail() });
    assert.deepEqual(results(requests.at(-1) ?? assert.fail()), ['again s2', 'again r1', 'again w3']);
  },
);

test('the decisions of the guards do not depend on which call ended first', deadline, async (t) => {
  const states: unknown[] = [];
  for (const first of ['r1', 'r2']) {
    const other = Promise.withResolvers<void>();
    const tools = watched(async (name, _call, { reached }) => {
      await reached(2);
      if (name === first) other.resolve();
      else await other.promise;
      return 'same';
    });
    const step = use(calls('r1', 'r2'));
    const run = await scripted(t, [step, step, step, step], tools);
    const { context, guards, requests } = await run({ contextId: `first-${first}` });
    const { guards: state, journal } = z
      .looseObject({ guards: z.unknown(), journal: z.unknown() })
      .parse(context.checkpoints.at(-1));
    states.push({ guards, state, journal, told: results(requests.at(-1) ?? assert.fail()) });
  }
  assert.deepEqual(states[0], states[1]);
});

test(
  'delegations that run at the same time share the budget, and leave the caller a share',
  deadline,
  async (t) => {
    const seen: number[] = [];
    const tools = watched(async (_name, { budget }, { reached }) => {
      await reached(3);
      const before = budget.remaining();
      seen.push(before);
      await assert.rejects(
        budget.reserve({ inputTokens: before + 1, maxOutputTokens: 1 }),
        /left of this share of the budget/,
      );
      const call = await budget.reserve({ inputTokens: 100, maxOutputTokens: 50 });
      await call.settle({
        inputTokens: 100,
        outputTokens: 20,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        source: 'metered',
      });
      await budget.addDelegated(1000, 'part');
      return String(before - budget.remaining());
    });
    const run = await scripted(t, [use(calls('s1', 's2', 's3'))], tools);
    const { requests, context } = await run({ limit: 100_000, contextId: 'shares' });
    assert.deepEqual(results(requests.at(-1) ?? assert.fail()), ['1120', '1120', '1120']);
    assert.equal(new Set(seen).size, 1, 'the shares are equal, whatever the others spend');
    const [share = 0] = seen;
    assert.ok(share > 20_000 && share <= 25_000, String(share));
    assert.equal(JSON.stringify(context.checkpoints.at(-1)).includes('"shares"'), false);
    assert.ok(context.budget.spent() >= 3 * 1120);
  },
);

test('the tokens of a share outlast a restart', deadline, async (t) => {
  let isFirst = true;
  const left: number[] = [];
  const tools = watched(async (_name, call, { reached }) => {
    left.push(call.budget.remaining());
    if (!isFirst) return 'x';
    await reached(2);
    await call.budget.addDelegated(5000, 'part');
    await call.memo.save({});
    return await abortOf(call.signal);
  });
  const server = await scripted(t, [use(calls('s1', 's2'))], tools);
  let checkpoint: JsonObject | undefined;
  const crashed = server({
    limit: 90_000,
    contextId: 'restart',
    onSave: (_, context) => {
      checkpoint = context.checkpoints.at(-1);
      if (JSON.stringify(checkpoint).match(/"spent":5000/g)?.length === 2) context.controller.abort(killed);
    },
  });
  await assert.rejects(crashed, killed);
  isFirst = false;
  await server({ limit: 90_000, contextId: 'restart', checkpoint: checkpoint ?? assert.fail() });
  assert.deepEqual(
    left.slice(2),
    left.slice(0, 2).map((tokens) => tokens - 5000),
  );
});
