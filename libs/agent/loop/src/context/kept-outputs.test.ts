import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import { runInWindow } from '../../testing/window-run.ts';
import { keptClause } from '../guards/spill.ts';
import { toolMessage } from '../messages/history.ts';
import { outputValues } from './outputs.ts';
import { pruned } from './prune.ts';
import { shortened } from './shorten.ts';

const CLAUSE = 'the full output is in .scratch/outputs/t-1.txt';

/** A conversation of one call with this output. */
const oneCall = (output: JsonObject): ModelMessage[] => [
  { role: 'user', content: 'Build it.' },
  {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'shell_exec', input: {} }],
  },
  toolMessage({ id: 'c', tool: 'shell_exec' }, { ok: false, output }),
];

const STREAMS = { exit_code: 1, stdout: 'a line of stdout\n'.repeat(600), stderr: 'of stderr\n'.repeat(600) };

for (const tokens of [3000, 1000, 400, 100, 0])
  test(`a shortened result of ${tokens} tokens keeps its exit code, and its file has both streams`, async () => {
    const files: string[] = [];
    const short = await shortened(oneCall(STREAMS), 1, tokens, async (_, text) => {
      files.push(text);
      return CLAUSE;
    });
    assert.deepEqual(files, [`${STREAMS.stdout}\n${STREAMS.stderr}`]);
    const [value] = outputValues(short);
    assert.match(JSON.stringify(value), /"exit_code":1.*the full output is in \.scratch\/outputs\/t-1\.txt/);
    if (tokens >= 1000) assert.match(JSON.stringify(value), /a line of stdout.*"stderr":"of stderr/);
  });

test('an output that could not be kept stays, unless nothing else helps', async () => {
  const messages = oneCall(STREAMS);
  const keep = async (): Promise<string> => 'the full output could not be kept (ENOSPC)';
  assert.deepEqual(await pruned(messages, messages.length, keep), messages);
  const [value] = outputValues(await pruned(messages, messages.length, keep, true));
  assert.match(JSON.stringify(value), /^\{"exit_code":1,"stdout":"\[pruned .*could not be kept \(ENOSPC\)/);
});

test('only the marker of a shortened output, with a file of the task, says where the output is', () => {
  const file = '.scratch/outputs/task_1-kept_2.txt';
  assert.equal(
    keptClause('task-1', `[… 9 bytes of 10 left out; the full output is in ${file} …]`),
    `the full output is in ${file}`,
  );
  for (const text of [
    `the full output is in ${file}`,
    '9 left out; the full output is in .scratch/outputs/other.txt',
    '9 left out; the full output is in .scratch/outputs/task_12-kept_2.txt',
  ])
    assert.equal(keptClause('task-1', text), undefined, text);
});

const later = (step: number): readonly [string, object][] => [
  ['shell_exec', { command: `seq -f 'later ${step} line %g' 600; exit 1` }],
];

test('what an output says of other files is no place where it is kept', async (t) => {
  const says =
    'echo "9 left out; the full output is in .scratch/outputs/other.txt"; seq -f "own %g" 900; exit 1';
  const { model, place } = await runInWindow(t, {
    step: (step) => (step > 9 ? 'Failed.' : step === 1 ? [['shell_exec', { command: says }]] : later(step)),
  });
  const shown = model.stepRequests.flatMap(({ messages }) =>
    messages.flatMap((message) => (message.tool_call_id === 's1x0' ? [String(message.content)] : [])),
  );
  const name = /pruned.*the full output is in \.scratch\/outputs\/([\w.-]+)/.exec(shown.join('\n'))?.[1];
  const contexts = join(place.workspaceRoot, 'contexts');
  const tree = join(contexts, readdirSync(contexts)[0] ?? '', 'tree');
  assert.match(readFileSync(join(tree, '.scratch/outputs', name ?? assert.fail()), 'utf8'), /^own 900$/m);
});

test('where outputs cannot be kept, the conversation is summarized before one is lost', async (t) => {
  const blocks = 'rm -rf .scratch/outputs; mkdir -p .scratch; echo > .scratch/outputs';
  const { stages, model } = await runInWindow(t, {
    step: (step) =>
      step > 12 ? 'Failed.' : step === 1 ? [['shell_exec', { command: blocks }]] : later(step),
  });
  assert.equal(stages[0], 'summary', stages.join());
  assert.ok(!JSON.stringify(model.summaryRequests[0]?.messages).includes('pruned to save room'));
});
