import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { MAX_QUESTION_CHARS } from '@hermes-fleet/protocol/ports';
import { block, makeAgent, makeContext, makeTask, makeToolContext } from '../../testing/harness.ts';
import { askTool } from './ask.ts';

type Ask = ReturnType<typeof makeContext>['ask'];

const NO_FILES = new Proxy(Object.create(null), { get: () => assert.fail('it touches no file') });

const call = (input: JsonObject, ask: Ask) =>
  askTool().run(input, makeToolContext({ dir: '/nowhere', files: NO_FILES, ask, key: '3.1' }));

test('the model gets the answer, labeled as the caller’s', async () => {
  const asked: unknown[] = [];
  const result = await call({ question: ' Which room? ' }, async (...args) => {
    asked.push(args);
    return 'The blue one.';
  });
  assert.deepEqual(asked, [['Which room?', { key: '3.1' }]], 'the key identifies the question');
  assert.deepEqual(result, {
    ok: true,
    output: 'The caller answers:\n\nThe blue one.',
    detail: 'Which room?',
  });
});

test('a long answer is cut, with a note', async () => {
  const { output } = await call({ question: 'All of it?' }, async () => 'x'.repeat(100_000));
  assert.ok(typeof output === 'string' && output.length < 65_000);
  assert.match(output, /the rest of a longer answer is cut\]$/);
  const emoji = await call({ question: 'All of it?' }, async () => `x${'\u{1f600}'.repeat(40_000)}`);
  assert.ok(typeof emoji.output === 'string' && emoji.output.isWellFormed(), 'no character is split');
});

test('an empty question, an overlong one and one too many become tool results that the model can act on', async () => {
  const nobody: Ask = async () => assert.fail('it was asked');
  for (const question of ['', ' \n', 'x'.repeat(MAX_QUESTION_CHARS + 1)])
    assert.equal((await call({ question }, nobody)).ok, false);
  assert.equal((await call({}, nobody)).ok, false);
  const refused = await call({ question: 'And now?' }, async () => {
    throw new FleetError('UNSUPPORTED_OPERATION', 'a task may ask its caller 5 times, and did');
  });
  assert.equal(refused.ok, false);
  assert.match(String(refused.output), /5 times, and did; decide yourself/);
});

test('a stop, a cancel and a deadline are passed on, so the run can resume later', async () => {
  for (const code of ['SHUTTING_DOWN', 'CANCELED', 'DEADLINE_EXCEEDED'] as const) {
    const reason = new FleetError(code, 'over');
    await assert.rejects(
      call({ question: 'Which room?' }, async () => Promise.reject(reason)),
      reason,
    );
  }
});

const BRIEF = `${block('tool ask_caller', '{"question": "Which room?"}')}${block('sh', 'echo painted >> out.txt; cat out.txt')}`;

test('a run that asks resumes from a checkpoint with the answer, after a pause and after a crash', async (t) => {
  const agent = await makeAgent(t, { tools: { shell: { confine: 'unconfined' } } });
  for (const how of ['paused', 'cut off'] as const) {
    const task = makeTask(BRIEF, { contextId: how });
    const asked: string[] = [];
    const first = makeContext();
    const waiting = Promise.withResolvers<void>();
    const run = agent.executor.run(task, {
      ...first,
      ask: async (_question, { key }) => {
        asked.push(key);
        waiting.resolve();
        return await new Promise((_resolve, reject) => {
          for (const signal of [first.stopping, first.signal])
            signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    await waiting.promise;
    const atCrash = first.checkpoints.at(-1) ?? assert.fail('no checkpoint before the question');
    const reason = new FleetError('SHUTTING_DOWN', 'it stops');
    if (how === 'paused') first.pausing.abort(reason);
    else first.controller.abort(reason);
    await assert.rejects(run, reason);
    const checkpoint = how === 'paused' ? first.checkpoints.at(-1) : atCrash;
    assert.ok(checkpoint);
    const outcome = await agent.executor.run(task, {
      ...makeContext({ checkpoint }),
      ask: async (_question, { key }) => {
        asked.push(key);
        return 'The blue one.';
      },
    });
    assert.equal(outcome.status, 'done', JSON.stringify(outcome));
    assert.match(outcome.text ?? '', /The blue one\./);
    assert.doesNotMatch(outcome.text ?? '', /painted\s+painted/);
    assert.deepEqual([asked.length, new Set(asked).size], [2, 1], how);
  }
});

test('tools.ask.enabled: false removes ask_caller from the tools', async (t) => {
  const on = await makeAgent(t);
  const off = await makeAgent(t, { tools: { ask: { enabled: false } } });
  assert.ok(on.capabilities().tools.includes('ask_caller'));
  assert.ok(!off.capabilities().tools.includes('ask_caller'));
});
