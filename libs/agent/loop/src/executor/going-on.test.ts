import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { EarlierConversation } from '@hermes-fleet/protocol/ports';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { reads, writes } from '../../testing/run-cases.ts';
import { type ScriptedRun, scriptedAgent, userTexts } from '../../testing/scripted-run.ts';
import { say } from '../../testing/scripted-server.ts';
import type { ExecutorProvider } from '../run/executor-provider.ts';
import { loopExecutor } from './loop-executor.ts';

/** What the ledger keeps of a run. */
function left(
  { context }: Pick<ScriptedRun, 'context'>,
  result: JsonObject = { status: 'done' },
): EarlierConversation {
  const { messages, keep_conversation: kept } = context.checkpoints.at(-1) ?? {};
  assert.ok(kept === true && Array.isArray(messages));
  return { messages, isWhole: true, result };
}

test('a further task sees the conversation so far, and its evidence is its own', async (t) => {
  const replies = [writes('a.txt'), reads('a.txt'), say('Written.'), reads('a.txt'), say('It says x.')];
  const run = await scriptedAgent(t, replies);
  const first = await run({ brief: 'Write a.txt.' });
  assert.deepEqual(
    first.result.evidence?.map(({ kind }) => kind),
    ['reread'],
  );
  const second = await run({ brief: 'What does it say?', earlier: left(first) });
  const [request] = second.requests;
  assert.ok(request);
  const [one = '', two = ''] = userTexts(request);
  assert.match(one, /^<task>\nWrite a\.txt\.\n<\/task>$/);
  assert.match(
    two,
    /^<task>\nWhat does it say\?\n<\/task>\n\nThis is a further message of the same caller\./,
  );
  assert.deepEqual(
    request.messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'user'],
  );
  assert.equal(second.result.status, 'done');
  assert.equal(second.result.text, 'It says x.');
  assert.deepEqual([second.result.evidence, second.result.artifacts.filesChanged], [[], []]);
  assert.deepEqual(
    second.context.events.flatMap((event) =>
      'data' in event && event.data.continued ? [event.data.continued] : [],
    ),
    [{ messages: 6, whole: true }],
  );
  const third = await run({ brief: 'And now?', earlier: left(second) });
  assert.equal(userTexts(third.requests[0] ?? assert.fail()).length, 3);
});

test('a task that ended at its step limit is continued, with steps and guards of its own', async (t) => {
  const run = await scriptedAgent(
    t,
    (_, request) =>
      userTexts(request).filter((text) => /Go on/.test(text)).length > 1 ? say('Done.') : reads('a.txt'),
    { limits: { max_steps: 2 } },
  );
  const first = await run({ brief: 'Read.' });
  assert.notEqual(first.result.status, 'done');
  const error = { code: 'step_limit', message: 'the limit of 2 steps is reached', retryable: false };
  const second = await run({ brief: 'Go on.', earlier: left(first, { status: 'error', error }) });
  assert.match(
    userTexts(second.requests[0] ?? assert.fail()).at(-1) ?? '',
    /the limit of 2 steps is reached/,
  );
  assert.ok(second.requests.length >= 2, 'it has its own steps');
  const third = await run({ brief: 'Go on.', earlier: left(second) });
  assert.equal(third.result.status, 'done');
});

test('a task that was canceled in its first model call is known to the next one', async (t) => {
  const run = await scriptedAgent(t, [{ hang: true, deltas: [{ content: 'I' }] }, say('Done.')]);
  const canceled = new FleetError('CANCELED', 'the task was canceled by its caller');
  const first = await run({
    brief: 'The secret word is plum.',
    onEvent: (event, context) => event.type === 'text' && context.controller.abort(canceled),
  });
  assert.equal(first.result.status, 'error');
  const second = await run({ brief: 'Which word?', earlier: left(first) });
  const [one = ''] = userTexts(second.requests[0] ?? assert.fail());
  assert.match(one, /secret word is plum/);
});

test('a run that resumes has the conversation once', async (t) => {
  const replies = [say('One.'), reads('a.txt'), say('Two.')];
  const run = await scriptedAgent(t, replies);
  const earlier = left(await run({ brief: 'First.' }));
  const killed = new FleetError('SHUTTING_DOWN', 'killed');
  let checkpoint: JsonObject | undefined;
  const crashed = run({
    brief: 'Second.',
    earlier,
    onSave: (_, context) => {
      checkpoint = context.checkpoints.at(-1);
      context.controller.abort(killed);
    },
  });
  await assert.rejects(crashed, killed);
  assert.ok(checkpoint);
  const resumed = await run({ brief: 'Second.', earlier, checkpoint });
  assert.deepEqual(
    userTexts(resumed.requests[0] ?? assert.fail()).map((text) => /\n(.*)\n/.exec(text)?.[1]),
    ['First.', 'Second.'],
  );
});

test('a small budget gets the end of a long conversation', async (t) => {
  const run = await scriptedAgent(t, () => say('word '.repeat(200)));
  let earlier: EarlierConversation | undefined;
  for (let nth = 0; nth < 8; nth += 1)
    earlier = left(await run({ brief: `Number ${nth}.`, ...(earlier && { earlier }) }));
  assert.ok(earlier);
  const rich = await run({ brief: 'Go on.', earlier, limit: 400_000 });
  assert.equal(userTexts(rich.requests[0] ?? assert.fail()).length, 9);
  const poor = await run({ brief: 'Go on.', earlier, limit: 12_000 });
  const texts = userTexts(poor.requests[0] ?? assert.fail());
  assert.ok(texts.length < 6, `${texts.length}`);
  assert.match(texts.at(-1) ?? '', /The beginning of the conversation is left out\./);
  assert.match(texts.join(), /Number 7/);
  assert.equal(poor.result.status, 'done');
});

test('a conversation that cannot be read is reported in the log, and the task runs', async (t) => {
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    error() {},
    warn: (_: object, text: string) => void warnings.push(text),
  };
  const run = await scriptedAgent(t, () => say('Done.'), {}, { log });
  const { result, requests } = await run({
    brief: 'Do it.',
    earlier: { messages: [{ role: 'oracle' }], isWhole: true, result: {} },
  });
  assert.equal(result.status, 'done');
  assert.deepEqual(userTexts(requests[0] ?? assert.fail()), ['<task>\nDo it.\n</task>']);
  assert.equal(warnings.filter((text) => /cannot be read/.test(text)).length, 1);
});

test('offline/runbook acts on its own brief alone, whatever was said before', async (t) => {
  const agent = await makeAgent(t);
  const brief = (file: string): string => `\`\`\`${file}\nx\n\`\`\`\n`;
  const first = makeContext();
  await agent.executor.run(makeTask(brief('a.txt')), first);
  const earlier = left({ context: first });
  const run = async (options: Parameters<typeof makeContext>[0]) => {
    const context = makeContext(options);
    const contextId = `context-${options?.earlier ? 'one' : 'two'}`;
    const { status, text, evidence, artifacts } = await agent.executor.run(
      makeTask(brief('b.txt'), { contextId }),
      context,
    );
    const { filesChanged } = artifacts;
    return { status, text, evidence, filesChanged, messages: context.checkpoints.at(-1)?.messages };
  };
  const alone = await run({});
  assert.equal(alone.status, 'done');
  assert.deepEqual(await run({ earlier }), alone);
});

test('an executor with sessions of its own, as Claude Code, gets the task alone', async (t) => {
  const executor: ExecutorProvider = {
    ...loopExecutor,
    createLead: async (config, runtime) => ({
      ...(await loopExecutor.createLead(config, runtime)),
      goesOn: false,
    }),
  };
  const run = await scriptedAgent(t, () => say('Done.'), {}, { executor });
  const earlier = left(await run({ brief: 'First.' }));
  const { requests } = await run({ brief: 'Second.', earlier });
  assert.deepEqual(userTexts(requests[0] ?? assert.fail()), ['<task>\nSecond.\n</task>']);
});
