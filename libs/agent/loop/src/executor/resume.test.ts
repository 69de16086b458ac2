import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import {
  isReview,
  type ScriptedRun,
  scriptedAgent,
  stepsSinceAsked,
  userTexts,
} from '../../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';

const writes = (content: string): Reply => use([['write_file', { path: 'a.txt', content }]]);
const look = use([['read_file', { path: 'a.txt' }]]);

/** The model's steps and final text after each prompt. They depend on the conversation alone. */
const AFTER: [prompt: RegExp, steps: readonly Reply[], text: Reply][] = [
  [/^Not verified yet/, [look], say('{"checked":true}')],
  [/^A second, independent check objects/, [writes('A')], say('Corrected.')],
  [/^The reply does not fit/, [], say('{"done":true}')],
  [/^<task>/, [writes('B')], say('Written.')],
];

/**
 * An urgent task with a JSON reply: it writes, is told to verify, reads, is reviewed (a read, then an objection), writes
 * again, is told to verify, reads, and its reply fits or must be repaired.
 */
function script(_: number, request: ChatRequest): Reply {
  if (isReview(request)) {
    if (stepsSinceAsked(request) === 0) return look;
    return say('Looked.\n```review\n{"verdict":"objections","objections":["it says B"]}\n```');
  }
  const last = userTexts(request).at(-1) ?? '';
  const [, steps, text] = AFTER.find(([prompt]) => prompt.test(last)) ?? assert.fail(last);
  const unknown = request.messages
    .slice(request.messages.findLastIndex(({ role }) => role === 'user'))
    .filter(({ content }) => String(content).startsWith('outcome unknown')).length;
  return steps[stepsSinceAsked(request) - unknown] ?? text;
}

const TASK = {
  brief: 'Write A to a.txt.',
  task: { priority: 'urgent', replySchema: 'json', outputSchema: { required: ['done'] } },
} as const;

const killed = new FleetError('SHUTTING_DOWN', 'killed');
const facts = ({ result }: ScriptedRun) => ({
  status: result.status,
  output: result.output,
  evidence: result.evidence,
  nextSteps: result.nextSteps,
  files: result.artifacts.filesChanged,
});

/** The first words of each user message in the last checkpoint. */
const Prompts = z.object({ messages: z.array(z.object({ role: z.string(), content: z.unknown() })) });
function prompts({ context }: ScriptedRun, from?: JsonObject): string[] {
  const { messages } = Prompts.parse(context.checkpoints.at(-1) ?? from);
  return messages.flatMap(({ role, content }) =>
    role === 'user' ? [String(content).split(/[.\n]/, 1)[0] ?? ''] : [],
  );
}

test('a run with every follow-up prompt and a review resumes from each checkpoint to the same result', async (t) => {
  let calls = 0;
  const run = await scriptedAgent(t, (turn, request) => {
    calls += 1;
    return script(turn, request);
  });
  const whole = await run({ ...TASK, contextId: 'whole' });
  const expected = facts(whole);
  assert.deepEqual(
    [expected.status, expected.output, expected.nextSteps, expected.files],
    ['done', { done: true }, [], ['a.txt']],
    JSON.stringify(whole.result),
  );
  assert.deepEqual(
    expected.evidence?.map(({ kind }) => kind),
    ['reread', 'reread', 'review'],
  );
  assert.deepEqual(prompts(whole), [
    '<task>',
    'Not verified yet',
    'A second, independent check objects',
    'Not verified yet',
    'The reply does not fit',
  ]);
  const total = whole.context.checkpoints.length;
  const perRun = whole.requests.length;
  assert.equal(calls, perRun);
  let unknown = 0;
  for (let saves = 1; saves <= total; saves += 1) {
    calls = 0;
    const contextId = `after-${saves}`;
    let checkpoint: JsonObject | undefined;
    const crashed = run({
      ...TASK,
      contextId,
      onSave: (count, context) => {
        if (count === saves) checkpoint = context.checkpoints.at(-1);
        if (count >= saves) context.controller.abort(killed);
      },
    });
    // An abort after the last checkpoint comes too late.
    if (saves < total) await assert.rejects(crashed, killed);
    else await crashed;
    assert.ok(checkpoint);
    const resumed = await run({ ...TASK, contextId, checkpoint });
    assert.deepEqual(facts(resumed), expected, `after ${saves}`);
    assert.deepEqual(prompts(resumed, checkpoint), prompts(whole), `after ${saves}`);
    // The model repeats a write that may have happened; no other call is made twice.
    const again = calls - perRun;
    assert.ok(again === 0 || again === 1, `after ${saves}: ${calls} calls`);
    unknown += again;
  }
  assert.equal(unknown, 2, 'two writes can be interrupted');
});

test('a stop at any step of a run with a review changes nothing', async (t) => {
  let calls = 0;
  const run = await scriptedAgent(t, (turn, request) => {
    calls += 1;
    return script(turn, request);
  });
  const whole = await run({ ...TASK, contextId: 'whole' });
  const perRun = calls;
  calls = 0;
  let checkpoint: JsonObject | undefined;
  let stops = 0;
  let end: ScriptedRun | undefined;
  while (end === undefined && stops < 100) {
    const start = run({
      ...TASK,
      contextId: 'stopped',
      ...(checkpoint ? { checkpoint } : {}),
      onSave: (_, context) => {
        checkpoint = context.checkpoints.at(-1);
      },
      onProgress: (context) => context.pausing.abort(killed),
    });
    end = await start.catch((error) => {
      assert.equal(error, killed);
      stops += 1;
      return undefined;
    });
  }
  assert.ok(end !== undefined && stops >= perRun - 1, String(stops));
  assert.deepEqual(facts(end), facts(whole));
  assert.deepEqual(prompts(end), prompts(whole));
  assert.equal(calls, perRun, 'no model call was made twice');
});

test('a write that a crash interrupted counts as unverified', async (t) => {
  const steps: readonly Reply[] = [
    use([['write_file', { path: './a.ts', content: 'x' }]]),
    use([['write_file', { path: 'b.md', content: 'y' }]]),
    use([['read_file', { path: 'b.md' }]]),
  ];
  const run = await scriptedAgent(t, (_, request) => {
    const answers = request.messages.filter(({ role }) => role === 'tool').length;
    return steps[answers] ?? say('Wrote both.');
  });
  let checkpoint: JsonObject | undefined;
  const options = { brief: 'Write.', task: { replySchema: 'structured' }, contextId: 'cut-off' } as const;
  const crashed = run({
    ...options,
    onSave: (count, context) => {
      if (count === 1) checkpoint = context.checkpoints.at(-1);
      context.controller.abort(killed);
    },
  });
  await assert.rejects(crashed, killed);
  assert.ok(checkpoint);
  const { result } = await run({ ...options, checkpoint });
  assert.equal(result.status, 'partial', JSON.stringify(result));
  assert.deepEqual(result.remaining, ['nothing was verified after the last write']);
  assert.match(result.nextSteps.join(), /^verify a\.ts: nothing was checked/);
});

const delegates = (_: number, request: ChatRequest): Reply => {
  if ((userTexts(request).at(-1) ?? '').includes('Look for B')) return say('There is none.');
  return stepsSinceAsked(request) === 0
    ? use([['delegate', { agent: 'writer', brief: 'Look for B.' }]])
    : say('Done.');
};

for (const [what, follow, task] of [
  ['every follow-up prompt and the start of a review', script, TASK],
  ['the start of a sub-agent', delegates, { brief: 'Have somebody look.' }],
] as const)
  test(`${what}: each is saved before the model gets it`, async (t) => {
    let saved = '';
    const prompted = new Set<string>();
    const run = await scriptedAgent(t, (turn, request) => {
      const text = userTexts(request).at(-1) ?? '';
      // The first call of the task begins it anew after a crash.
      if (turn > 1 && stepsSinceAsked(request) === 0) {
        prompted.add(text);
        assert.ok(saved.includes(JSON.stringify(text)), `not saved: ${text}`);
      }
      return follow(turn, request);
    });
    const { result } = await run({
      ...task,
      onSave: (_, { checkpoints }) => {
        saved = JSON.stringify(checkpoints.at(-1));
      },
    });
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.ok(prompted.size > 0);
  });
