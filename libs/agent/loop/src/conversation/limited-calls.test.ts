import assert from 'node:assert/strict';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import { assertLike } from '../../testing/assert-like.ts';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';
import { calls, results, scripted, test, watched } from '../../testing/watched-tools.ts';
import { limitedCalls, MAX_CALLS, MAX_KEPT_CALLS } from './limited-calls.ts';

const NOT_RUN = /^not run: of the calls of one answer, only the first 64 are carried out/;
const REST = /Calls of that answer that are missing here were not run either\.$/;

const many = (count: number, letter: string): string[] =>
  Array.from({ length: count }, (_, at) => `${letter}${at}`);

/** The ids of the calls and of the results in a request. */
function idsOf({ messages }: ChatRequest): { called: string[]; answered: string[] } {
  const called = messages.flatMap(({ tool_calls: made }) =>
    Array.isArray(made) ? made.map(({ id }) => String(id)) : [],
  );
  const answered = messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [String(id)]));
  return { called, answered };
}

test('of an answer with thousands of calls, 64 run, all that stay are answered, and the conversation stays short', async (t) => {
  const tools = watched(async (name) => name);
  const config = { context_window: 128_000, limits: { max_output_tokens: 100_000 } };
  const script = [use(calls(...many(2_000, 'w'))), say('Done.')];
  const run = await scriptedAgent(t, script, config, { sources: tools.sources });
  const { requests, result, guards } = await run();
  assert.deepEqual(
    tools.log.filter((entry) => entry.startsWith('+')),
    many(64, '+w'),
  );
  const second = requests[1] ?? assert.fail();
  const { called, answered } = idsOf(second);
  assert.equal(called.length, MAX_KEPT_CALLS);
  assert.deepEqual(answered, called);
  const told = results(second);
  assert.deepEqual(told.slice(0, MAX_CALLS), many(64, 'w'));
  for (const text of told.slice(MAX_CALLS)) assert.match(text, NOT_RUN);
  assertLike([told.at(-2), told.at(-1)], [/needed\.$/, REST]);
  assert.ok(JSON.stringify(second.messages).length < 60_000, String(JSON.stringify(second.messages).length));
  assert.deepEqual([result.status, guards, requests.length], ['partial', [], 2]);
});

const writesOf = (from: number, to: number): Reply =>
  use(
    many(to, '')
      .slice(from)
      .map((name) => ['write_file', { path: `${name}.txt`, content: name }]),
  );

test('calls that were not run can be made again, and until then the work is not done', async (t) => {
  const config = { hooks: { verifyBeforeComplete: false } };
  const whole = await scriptedAgent(t, [writesOf(0, 70), writesOf(64, 70), say('Done.')], config);
  const done = await whole();
  assert.deepEqual([done.result.status, done.result.artifacts.filesChanged.length], ['done', 70]);
  const part = await (await scriptedAgent(t, [writesOf(0, 70), say('Done.')], config))();
  assert.deepEqual([part.result.status, part.result.artifacts.filesChanged.length], ['partial', 64]);
  assertLike(part.result.remaining, [/the last write_file failed: not run: of the calls of one answer/]);
});

test('an answer of thousands of calls that the output limit cut is as short', async (t) => {
  const args = { name: 'x'.repeat(30) };
  const flood = use(Array.from({ length: 3_000 }, () => ['probe_read', args]));
  const tools = watched(async (name) => name);
  const { requests } = await (await scripted(t, [flood], tools, 128_000))();
  assert.deepEqual(tools.log, []);
  const second = requests[1] ?? assert.fail();
  const { called, answered } = idsOf(second);
  assert.deepEqual([called.length, answered], [MAX_KEPT_CALLS, called]);
  for (const text of results(second)) assert.match(text, /^not run: the call was cut/);
});

test('after a crash, a call after the first 64 is answered as not run, and not as one that may have run', async (t) => {
  const killed = new FleetError('SHUTTING_DOWN', 'killed');
  const tools = watched(async (name) => name);
  const run = await scripted(t, [use(calls(...many(66, 'w')))], tools);
  let checkpoint: JsonObject | undefined;
  const crashed = run({
    contextId: 'crash',
    onSave: (_, { checkpoints, controller }) => {
      const saved = JSON.stringify(checkpoints.at(-1));
      if (checkpoint !== undefined || !saved.includes('"value":"w63"') || saved.includes('only the first'))
        return;
      checkpoint = checkpoints.at(-1);
      controller.abort(killed);
    },
  });
  await assert.rejects(crashed, killed);
  tools.log.length = 0;
  const { requests } = await run({ contextId: 'crash', checkpoint: checkpoint ?? assert.fail() });
  assert.deepEqual(tools.log, []);
  assertLike(results(requests.at(-1) ?? assert.fail()).slice(63), ['w63', NOT_RUN, NOT_RUN]);
});

test('of the calls that stay, the last is one that was to write, and a result stays with its own call', async () => {
  const called = (toolName: string, toolCallId: string) =>
    ({ type: 'tool-call', toolName, toolCallId, input: {} }) as const;
  const refused = (toolCallId: string) =>
    ({
      type: 'tool-result',
      toolName: 'Nope',
      toolCallId,
      output: { type: 'error-text', value: 'no' },
    }) as const;
  const reads = many(200, '').map((id) => called('Nope', id));
  const content = [
    { type: 'text' as const, text: 'Now.' },
    ...reads,
    called('write_file', 'w'),
    called('todo_write', 'x'),
    called('Nope', '0'),
  ];
  const answer: ModelMessage[] = [
    { role: 'assistant', content },
    { role: 'tool', content: ['0', '1', '199', '0'].map(refused) },
  ];
  const { messages, made } = limitedCalls(answer);
  assert.equal(made, 203);
  const [said, told] = messages;
  assert.ok(said?.role === 'assistant' && typeof said.content !== 'string' && told?.role === 'tool');
  assert.equal(said.content.length, 1 + MAX_KEPT_CALLS);
  assert.deepEqual(said.content.at(-1), called('write_file', 'w'));
  assert.deepEqual(told.content, [refused('0'), refused('1')]);
  assert.deepEqual(limitedCalls(answer.slice(1)), { messages: answer.slice(1), made: 0 });
});
