import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AdmittedTask, FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { cannotConfine } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask, memoryTokens } from '../testing/harness.ts';

/** The command lines of all processes. */
const processes = (): string[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => {
      try {
        return readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    });

for (const confine of ['auto', 'uid'] as const) {
  const skip = cannotConfine(confine);
  test(`an abort throws its reason and leaves no process (${confine})`, { skip }, async (t) => {
    const agent = await makeAgent(t, { tools: { shell: { confine } } });
    const mark = `3600.${process.pid}`;
    const hidden = `(setsid setsid sleep ${mark} & ) ; sleep ${mark} & sleep ${mark}`;
    const brief = [block('early.txt', 'x'), block('sh', `touch started; ${hidden}`)].join('\n');
    const context = makeContext({ limit: 50_000 });
    const running = agent.executor.run(makeTask(brief), context);
    const tree = join(agent.place.workspaceRoot, 'contexts', 'context-1', 'tree');
    const ended = running.then(
      () => assert.fail('it must not end by itself'),
      (error) => error,
    );
    while (!existsSync(join(tree, 'started')) || !processes().some((line) => line.includes(mark))) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
    const before = context.budget.spent();
    const reason = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');
    context.controller.abort(reason);
    assert.equal(await ended, reason);
    assert.deepEqual(
      processes().filter((line) => line.includes(mark)),
      [],
    );
    assert.ok(before > 0);
    assert.equal(context.budget.spent(), before);
    const next = await agent.executor.run(makeTask(block('late.txt', 'y')), makeContext());
    assert.deepEqual(
      next.artifacts.filesChanged,
      ['late.txt'],
      "the aborted task's work is not the next task's",
    );
  });
}

test('closing the agent ends a run so that the next start can resume it', async (t) => {
  const agent = await makeAgent(t);
  const context = makeContext({ onEvent: () => void closing() });
  let closed: Promise<void> | undefined;
  const closing = (): Promise<void> => {
    closed ??= agent.close();
    return closed;
  };
  const run = agent.executor.run(makeTask(block('sh', 'sleep 3600')), context);
  await assert.rejects(run, { code: 'SHUTTING_DOWN' });
  await closed;
});

test('a stop lets the running command end, and the next start resumes without a trace', async (t) => {
  const agent = await makeAgent(t);
  const lines = ['echo one >> ran.txt', 'echo two >> ran.txt', 'cat ran.txt'];
  const brief = lines.map((line) => block('sh', line)).join('\n');
  const reason = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');
  const whole = makeContext();
  const expected = await agent.executor.run(makeTask(brief, { contextId: 'whole' }), whole);
  assert.equal(expected.status, 'done');

  let checkpoint: JsonObject | undefined;
  let starts = 0;
  let outcome: Awaited<ReturnType<typeof agent.executor.run>> | undefined;
  while (outcome === undefined && starts < 10) {
    starts += 1;
    // The first tool call stops every start.
    const context = makeContext({
      ...(checkpoint ? { checkpoint } : {}),
      onEvent: ({ type, ...event }) => {
        if (type === 'progress' && 'data' in event && 'tool' in event.data) context.pausing.abort(reason);
      },
    });
    outcome = await agent.executor.run(makeTask(brief), context).catch((error) => {
      assert.equal(error, reason);
      return undefined;
    });
    checkpoint = context.checkpoints.at(-1);
  }
  assert.ok(starts > lines.length, `only ${starts} starts`);
  assert.equal(outcome?.status, 'done');
  assert.equal(outcome?.text, expected.text, 'each command ran once, and none was reported as unknown');
});

const BRIEF = [
  block('one.txt', '1'),
  block('sh', 'echo ran >> count.txt'),
  block('sh', 'cat one.txt count.txt > sum.txt'),
].join('\n');

/** Runs until so many checkpoints are stored, then ends like a killed process: nothing more is stored. */
async function crashAfter(
  agent: Awaited<ReturnType<typeof makeAgent>>,
  saves: number,
  task: AdmittedTask = makeTask(BRIEF),
): Promise<JsonObject | undefined> {
  const context = makeContext({
    onSave: (count) => {
      if (count >= saves) context.controller.abort(new FleetError('SHUTTING_DOWN', 'killed'));
    },
  });
  await agent.executor.run(task, context).catch(() => {});
  return context.checkpoints[saves - 1];
}

test('a run resumes from each of its checkpoints to the same result', async (t) => {
  const whole = await makeAgent(t);
  const context = makeContext();
  const expected = await whole.executor.run(makeTask(BRIEF), context);
  assert.equal(expected.status, 'done');
  assert.deepEqual(expected.artifacts.filesChanged, ['count.txt', 'one.txt', 'sum.txt']);
  const total = context.checkpoints.length;
  assert.ok(total >= 6, String(total));
  const ends: string[] = [];
  for (let saves = 1; saves <= total; saves += 1) {
    const agent = await makeAgent(t);
    const checkpoint = await crashAfter(agent, saves);
    assert.ok(checkpoint);
    const again = await makeAgent(t, {}, { place: agent.place });
    const result = await again.executor.run(makeTask(BRIEF, { resumes: 1 }), makeContext({ checkpoint }));
    const tree = join(agent.place.workspaceRoot, 'contexts', 'context-1', 'tree');
    if (result.status === 'done') {
      assert.deepEqual(result.artifacts, expected.artifacts, `after ${saves}`);
      assert.equal(readFileSync(join(tree, 'sum.txt'), 'utf8'), '1\nran\n');
    } else {
      assert.match(result.text ?? '', /outcome unknown/);
      assert.ok((result.remaining?.length ?? 0) > 0);
    }
    ends.push(result.status);
  }
  // A command that was interrupted between its start and its result is not repeated: it may have run.
  assert.deepEqual([...new Set(ends)].sort(), ['done', 'partial']);
  assert.equal(ends.filter((end) => end === 'partial').length, 2);
});

test('offline/runbook resumes from each checkpoint of an urgent task, including its review', async (t) => {
  const agent = await makeAgent(t);
  const task = (contextId: string): AdmittedTask =>
    makeTask(BRIEF, { contextId, task: { priority: 'urgent' } });
  const whole = makeContext();
  const expected = await agent.executor.run(task('whole'), whole);
  assert.equal(expected.status, 'done');
  assert.deepEqual(
    expected.evidence?.map(({ kind, detail }) => (kind === 'reread' ? `${kind} ${detail}` : kind)),
    ['command', 'command', 'reread one.txt', 'reread count.txt', 'reread sum.txt', 'review'],
  );
  const ends: string[] = [];
  for (let saves = 1; saves <= whole.checkpoints.length; saves += 1) {
    const checkpoint = await crashAfter(agent, saves, task(`after-${saves}`));
    assert.ok(checkpoint);
    const again = makeContext({ checkpoint });
    const result = await agent.executor.run(task(`after-${saves}`), again);
    if (result.status === 'done')
      assert.deepEqual({ ...result, text: undefined }, { ...expected, text: undefined }, `after ${saves}`);
    else assert.match(result.text ?? '', /outcome unknown/);
    ends.push(result.status);
  }
  assert.equal(ends.filter((end) => end !== 'done').length, 2, 'two commands can be interrupted');
});

test('a checkpoint of the first release can be resumed', async (t) => {
  const agent = await makeAgent(t);
  const task = (contextId: string): AdmittedTask => makeTask(BRIEF, { contextId });
  const expected = await agent.executor.run(task('whole'), makeContext());
  const saved = (await crashAfter(agent, 2, task('old'))) ?? {};
  const { nudges, instructions, guards, context, keep_conversation: kept, ...old } = saved;
  assert.deepEqual(
    [nudges, kept, typeof instructions, typeof guards, typeof context, Object.keys(old).sort()],
    [0, true, 'string', 'object', 'object', ['base', 'journal', 'messages', 'step', 'version']],
  );
  assert.deepEqual(await agent.executor.run(task('old'), makeContext({ checkpoint: old })), expected);
});

test('a run that finished before the crash is not repeated and costs nothing more', async (t) => {
  const agent = await makeAgent(t);
  const whole = makeContext();
  const expected = await agent.executor.run(makeTask(BRIEF), whole);
  const checkpoint = whole.checkpoints.at(-1);
  assert.ok(checkpoint);
  const resumed = makeContext({ checkpoint });
  assert.deepEqual(await agent.executor.run(makeTask(BRIEF, { resumes: 1 }), resumed), expected);
  assert.equal(resumed.budget.spent(), 0);
});

for (const code of ['DEADLINE_EXCEEDED', 'CANCELED'] as const) {
  test(`${code} ends a run with the work done so far`, async (t) => {
    const agent = await makeAgent(t);
    const cut = (tool: string) => {
      const context = makeContext({
        onEvent: (event) => {
          if (event.type === 'progress' && event.data.tool === tool && event.data.phase === 'ended')
            context.controller.abort(new FleetError(code, 'no more time'));
        },
      });
      return context;
    };
    const result = await agent.executor.run(makeTask(BRIEF), cut('write_file'));
    assert.equal(result.status, 'partial');
    assert.deepEqual(result.artifacts.filesChanged, ['one.txt']);
    assert.match(result.remaining?.[0] ?? '', /stopped after step 1: no more time/);
    const nothing = await agent.executor.run(makeTask(block('sh', 'exit 1')), cut('shell_exec'));
    assert.deepEqual([nothing.status, nothing.error?.code], ['error', code.toLowerCase()]);
  });
}

test('a resumed run keeps what its budget has spent', async (t) => {
  const agent = await makeAgent(t);
  const store = memoryTokens();
  const saved = await new Promise<JsonObject>((resolve) => {
    const context = makeContext({
      store,
      limit: 10_000,
      onSave: (count) => {
        if (count === 2) context.controller.abort(new FleetError('SHUTTING_DOWN', 'killed'));
      },
    });
    agent.executor.run(makeTask(BRIEF), context).catch(() => resolve(context.checkpoints[1] ?? {}));
  });
  const resumed = makeContext({ store, limit: 10_000, checkpoint: saved });
  const before = resumed.budget.spent();
  assert.ok(before > 0);
  const result = await agent.executor.run(makeTask(BRIEF, { resumes: 1 }), resumed);
  assert.equal(result.status, 'done');
  assert.ok(resumed.budget.spent() > before);
});

test('an invalid checkpoint is refused', async (t) => {
  const agent = await makeAgent(t);
  const context = makeContext({ checkpoint: { version: 99 } });
  await assert.rejects(agent.executor.run(makeTask(BRIEF), context), { code: 'INTERNAL' });
});
