import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { longTaskStep } from '../../testing/long-task.ts';
import { asked, type ChatRequest, env, KEYED, type Reply } from '../../testing/scripted-server.ts';
import { windowModel } from '../../testing/window-model.ts';
import { runInWindow, WINDOW } from '../../testing/window-run.ts';

const isOf = (agent: string, { messages }: ChatRequest): boolean =>
  String(messages[0]?.content).startsWith(`You are ${agent}, a sub-agent`);

test('a sub-agent has the same care for its context window', async (t) => {
  const { result, model, context } = await runInWindow(t, {
    brief: 'Have all modules read.',
    step: (step, request) => {
      if (isOf('researcher', request))
        return step > 10 ? 'All read: `src/m1.sh:1`.' : [['read_file', { path: `src/m${step}.sh` }]];
      if (step === 1) return longTaskStep(1);
      return step === 2 ? [['delegate', { agent: 'researcher', brief: 'Read them.' }]] : 'They are read.';
    },
  });
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(model.refused, []);
  assert.ok(model.stepRequests.filter((request) => isOf('researcher', request)).length >= 11);
  const shorter = context.events.flatMap((event) =>
    event.type === 'progress' && 'compaction' in event.data ? [event.data.agent] : [],
  );
  assert.ok(shorter.length > 0 && shorter.every((agent) => agent === 'researcher'), shorter.join());
});

test('a budget counts summaries, and is not exceeded by a long conversation', async (t) => {
  const { result, model, context, guards } = await runInWindow(t, { budget: 400_000 });
  assert.equal(result.status, 'partial', JSON.stringify(result));
  assert.ok(context.budget.spent() <= 400_000, String(context.budget.spent()));
  assert.ok(context.budget.spent() > 350_000, String(context.budget.spent()));
  assert.deepEqual(guards, ['budget wrap_up']);
  assert.match(asked(model.stepRequests.at(-1) ?? assert.fail()), /^Wrap up now\. The token budget/);
});

/** Steps that add a few hundred tokens each, of the model's own text. */
const talk = (step: number): ReturnType<typeof longTaskStep> =>
  step > 40
    ? 'Noted.\n```outcome\n{"status":"done"}\n```'
    : [['scratchpad_write', { name: `n${step}.md`, content: `note ${step} `.repeat(90) }]];

const SUMMARIES: readonly [what: string, reply: Reply | undefined, most: number][] = [
  ['are made only after it has grown again', undefined, 13],
  ['that fail are not tried without end', { deltas: [], finish: 'stop' }, 3],
];

for (const [what, reply, most] of SUMMARIES)
  test(`beside a long task there is little room, and summaries ${what}`, async (t) => {
    const brief = 'Keep in mind what is said here. '.repeat(2480);
    const { model } = await runInWindow(t, { brief, step: talk, ...(reply && { summary: () => reply }) });
    assert.deepEqual(model.refused, []);
    assert.ok(model.stepRequests.length > 20, String(model.stepRequests.length));
    assert.ok(
      model.summaryRequests.length > 0 && model.summaryRequests.length <= most,
      `${model.summaryRequests.length} in ${model.stepRequests.length} steps`,
    );
    t.diagnostic(`${model.summaryRequests.length} summaries in ${model.stepRequests.length} steps`);
  });

test('a provider that refuses whatever it is sent ends the run soon, at no cost', async (t) => {
  const { result, model, context } = await runInWindow(t, { window: 600, configured: WINDOW });
  assert.deepEqual([result.status, result.error?.code], ['error', 'model_failed'], JSON.stringify(result));
  assert.ok(model.refused.length > 0 && model.refused.length <= 4, String(model.refused.length));
  assert.equal(context.budget.spent(), 0);
});

test('a task that does not fit what a provider says is refused with its words', async (t) => {
  const { result, model } = await runInWindow(t, { window: 1500, configured: WINDOW });
  assert.equal(model.refused.length, 1);
  assert.match(
    result.error?.message ?? '',
    /the task does not fit the model's context window of 1500 tokens: .*\(.* answered 400: This model's maximum context length is 1500 tokens/,
  );
});

test('a stop during the call for a summary is followed by no further call', async (t) => {
  const context = makeContext();
  const after: string[] = [];
  const model = await windowModel(t, {
    window: WINDOW,
    step: talk,
    before: async (kind) => {
      if (context.stopping.aborted) after.push(kind);
      if (kind === 'summary') context.pausing.abort(new FleetError('SHUTTING_DOWN', 'stopping'));
    },
  });
  const config = { ...KEYED, base_url: model.url, context_window: WINDOW, limits: { max_steps: 80 } };
  const agent = await makeAgent(t, config, { env, place: makePlace(t) });
  const brief = 'Keep in mind what is said here. '.repeat(2500);
  await assert.rejects(agent.executor.run(makeTask(brief), context), { code: 'SHUTTING_DOWN' });
  assert.deepEqual([model.summaryRequests.length, after], [1, []]);
});

test('offline/runbook does the same work in a small context window as in a large one', async (t) => {
  const brief = Array.from({ length: 12 }, (_, at) =>
    block('sh', `seq -f 'line %g of ${at}' 400; echo ${at} >> a.txt`),
  );
  brief.push(block('b.txt', 'b '.repeat(500)), block('sh', 'seq 900; wc -l a.txt b.txt'));
  const outcomes = [];
  for (const window of [128_000, 12_500]) {
    const stages: string[] = [];
    const agent = await makeAgent(
      t,
      { context_window: window, hooks: { compactSuccessOutput: false, loopDetection: false } },
      { onCompaction: (stage) => stages.push(stage) },
    );
    const { status, evidence, remaining, artifacts } = await agent.executor.run(
      makeTask(brief.join('\n')),
      makeContext(),
    );
    assert.equal(stages.length > 0, window === 12_500, stages.join());
    outcomes.push({ status, evidence, remaining, artifacts });
  }
  assert.equal(outcomes[0]?.status, 'done', JSON.stringify(outcomes[0]));
  assert.deepEqual(outcomes[1], outcomes[0]);
});
