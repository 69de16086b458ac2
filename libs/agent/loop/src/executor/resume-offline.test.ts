import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { AdmittedTask, RunOutcome } from '@hermes-fleet/protocol/ports';
import { block, makeAgent, makeContext, makeTask, memoryTokens } from '../../testing/harness.ts';

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
  task: AdmittedTask,
): Promise<JsonObject | undefined> {
  const context = makeContext({
    onSave: (count) => {
      if (count >= saves) context.controller.abort(new FleetError('SHUTTING_DOWN', 'killed'));
    },
  });
  await agent.executor.run(task, context).catch(() => {});
  return context.checkpoints[saves - 1];
}

/** A result without its text, and without the branch of its context. */
const ofAnyContext = ({ artifacts: { filesChanged, delivery }, ...result }: RunOutcome) => ({
  ...{ ...result, text: undefined, filesChanged, commit: delivery?.commit },
});

test('an urgent task resumes from each of its checkpoints to the same result, also in its review', async (t) => {
  const agent = await makeAgent(t);
  const task = (contextId: string, resumes = 0): AdmittedTask =>
    makeTask(BRIEF, { contextId, task: { priority: 'urgent' }, resumes });
  const whole = makeContext();
  const expected = await agent.executor.run(task('whole'), whole);
  assert.equal(expected.status, 'done');
  assert.deepEqual(expected.artifacts.filesChanged, ['count.txt', 'one.txt', 'sum.txt']);
  assert.deepEqual(
    expected.evidence?.map(({ kind, detail }) => (kind === 'reread' ? `${kind} ${detail}` : kind)),
    ['command', 'command', 'reread one.txt', 'reread count.txt', 'reread sum.txt', 'review'],
  );
  const ends: string[] = [];
  for (let saves = 1; saves <= whole.checkpoints.length; saves += 1) {
    const contextId = `after-${saves}`;
    const checkpoint = await crashAfter(agent, saves, task(contextId));
    assert.ok(checkpoint);
    const next = await makeAgent(t, {}, { place: agent.place });
    const result = await next.executor.run(task(contextId, 1), makeContext({ checkpoint }));
    if (result.status === 'done') {
      assert.deepEqual(ofAnyContext(result), ofAnyContext(expected), `after ${saves}`);
      const sum = join(agent.place.workspaceRoot, 'contexts', contextId, 'tree/sum.txt');
      assert.equal(readFileSync(sum, 'utf8'), '1\nran\n');
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
