import assert from 'node:assert/strict';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { use } from '../../testing/scripted-server.ts';
import { abortOf, calls, results, scripted, test, watched } from '../../testing/watched-tools.ts';

test('reads and delegations run at the same time, and their results are in the order of the calls', async (t) => {
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
});

test('a call that changes things runs alone, after all before it and before all after it', async (t) => {
  const tools = watched(async (name, _call, { reached }) => {
    if (name.startsWith('r')) await reached(2);
    return name;
  });
  const run = await scripted(t, [use(calls('r1', 'r2', 'w1', 'w2', 'r3', 'r4'))], tools);
  await run();
  const [a, b, c, d, ...rest] = tools.log;
  assert.deepEqual([a, b, c?.[0], d?.[0]], ['+r1', '+r2', '-', '-']);
  assert.deepEqual(rest.slice(0, 6), ['+w1', '-w1', '+w2', '-w2', '+r3', '+r4']);
});

test('at most 8 calls run at the same time, and fewer where their results might fill the window', async (t) => {
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
});

const killed = new FleetError('SHUTTING_DOWN', 'killed');

test('after a crash with several running calls, those without a result are called again with their memos', async (t) => {
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
  assert.deepEqual(results(requests.at(-1) ?? assert.fail()), ['first', 'again s2', 'again s3', 'again w4']);
});

test('a stop waits for all running calls, and the next start calls those without a result again', async (t) => {
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
        queueMicrotask(() => setImmediate(() => tools.log.includes('+r1') && context.pausing.abort(killed)));
    },
  });
  await assert.rejects(stopped, killed);
  stops = false;
  const { requests } = await run({ contextId: 'stop', checkpoint: checkpoint ?? assert.fail() });
  assert.deepEqual(results(requests.at(-1) ?? assert.fail()), ['again s2', 'again r1', 'again w3']);
});

test('the decisions of the guards do not depend on which call ended first', async (t) => {
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

const Saved = z.looseObject({
  journal: z.array(z.unknown()),
  messages: z.array(z.looseObject({ role: z.string() })),
});

test('a checkpoint that is saved between the reads and their results has not counted them', async (t) => {
  const states = new Set<string>();
  let answered = 0;
  const tools = watched(async (name, { memo }, { reached }) => {
    await reached(5);
    // An output of this size is kept in a file, so judging the reads takes a while.
    if (name !== 's5') return 'x'.repeat(200_000);
    while (answered === 0) {
      await memo.save({ of: name });
      await new Promise(setImmediate);
    }
    return name;
  });
  const run = await scripted(t, [use(calls('r1', 'r2', 'r3', 'r4', 's5'))], tools);
  await run({
    onSave: (_, context) => {
      const { journal, messages } = Saved.parse(context.checkpoints.at(-1));
      answered = messages.filter(({ role }) => role === 'tool').length;
      states.add(`${journal.length} counted, ${answered} answered`);
    },
  });
  assert.deepEqual([...states], ['0 counted, 0 answered', '4 counted, 4 answered', '5 counted, 5 answered']);
});
