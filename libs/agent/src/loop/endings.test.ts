import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scriptedAgent, userTexts } from '../testing/scripted-run.ts';
import { type ChatRequest, type Reply, say, use } from '../testing/scripted-server.ts';

const TOLD = /^Not finished yet\./;
const writes: Reply = use([['write_file', { path: 'a.txt', content: 'A\n' }]]);
const reads: Reply = use([['read_file', { path: 'a.txt' }]]);
const isTold = (request: ChatRequest): boolean => userTexts(request).some((text) => TOLD.test(text));
const answers = ({ messages }: ChatRequest): number =>
  messages.filter(({ role }) => role === 'assistant').length;

test('a model that announces its work instead of doing it is told so once, and does it', async (t) => {
  const run = await scriptedAgent(t, (_, request) => {
    if (!isTold(request)) return say("I'll now create the file a.txt.");
    return [writes, reads][answers(request) - 1] ?? say('I created a.txt and read it again.');
  });
  const { result, guards } = await run();
  assert.deepEqual([result.status, guards], ['done', ['ending warn']], JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
});

for (const [what, text, remaining] of [
  [
    'announces its work',
    "I'll now create the file a.txt.",
    /^what the last message announces and does not do: I'll now/,
  ],
  [
    'writes its call as text',
    '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.txt"}}\n</tool_call>',
    /^the tool call that the last message holds as text, which was not carried out: /,
  ],
] as const) {
  test(`a model that ${what} again after it was told is not done`, async (t) => {
    const run = await scriptedAgent(t, () => say(text));
    const { result, guards, requests } = await run();
    assert.deepEqual([result.status, guards, requests.length], ['partial', ['ending warn'], 2]);
    assert.match(result.remaining?.[0] ?? '', remaining);
    assert.match(userTexts(requests[1] ?? assert.fail()).at(-1) ?? '', TOLD);
  });
}

test('a task whose only write was refused is not done, whatever the model says', async (t) => {
  const refused: readonly [string, object][] = [
    ['write_file', { path: 'a.txt' }],
    ['save_document', { path: 'a.txt', content: 'A' }],
  ];
  for (const call of refused) {
    const run = await scriptedAgent(t, (turn) =>
      turn === 1 ? use([call]) : turn === 2 ? use([['shell_exec', { command: 'ls' }]]) : say('All done.'),
    );
    const { result } = await run();
    assert.equal(result.status, 'partial', `${call[0]}: ${JSON.stringify(result)}`);
    assert.match(result.remaining?.[0] ?? '', new RegExp(`^the last ${call[0]} failed: `));
  }
});

test('a look that finds nothing, or a refused look, is no failure of the work', async (t) => {
  for (const last of [
    use([['shell_exec', { command: 'grep -n missing a.txt' }]]),
    use([['shell_exec', { command: 'cat a.txt; echo B | diff a.txt -' }]]),
    use([['shell_exec', { command: 'test -e b.txt' }]]),
    use([['list_everything', {}]]),
    use([['read_file', { lines: 3 }]]),
  ]) {
    const run = await scriptedAgent(t, (turn) => [writes, reads, last][turn - 1] ?? say('I wrote a.txt.'));
    const { result } = await run();
    assert.deepEqual([result.status, result.remaining], ['done', undefined], JSON.stringify(last));
  }
  const failing = use([['shell_exec', { command: 'cat a.txt && exit 1' }]]);
  const run = await scriptedAgent(t, (turn) => [writes, reads, failing][turn - 1] ?? say('I wrote a.txt.'));
  const { result } = await run();
  assert.equal(result.status, 'partial', 'a program that failed');
});

test('a call that goes on beyond the output limit is refused as cut, also where the server ignores the limit', async (t) => {
  const long = use([['write_file', { path: 'a.txt', content: 'many words '.repeat(2000) }]]);
  const run = await scriptedAgent(
    t,
    (turn, request) => (turn === 1 ? long : isTold(request) ? say('It is too long.') : say('All done.')),
    { limits: { max_output_tokens: 64 } },
  );
  const { result, requests } = await run();
  assert.match(
    JSON.stringify(requests[1]?.messages.at(-1)),
    /the call was cut at the output limit of 64 tokens/,
  );
  assert.equal(result.status, 'partial', JSON.stringify(result));
});
