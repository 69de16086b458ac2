import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import fc from 'fast-check';
import { summarizePrompt, summaryMessage, verifyPrompt } from '../messages/follow-up-prompts.ts';
import { pendingCalls, toolMessage } from '../messages/history.ts';
import { taskMessage } from '../messages/task-message.ts';
import { outputValues } from './outputs.ts';
import { prunableTokens, pruned } from './prune.ts';
import { fairShare, shortened } from './shorten.ts';
import { summarized, withJoinedSummary } from './summary.ts';
import { abridgedToFit, tailStart, turnStarts } from './turns.ts';

const text = fc.oneof(
  fc.string(),
  fc.integer({ min: 0, max: 6000 }).map((length) => 'line of text\n'.repeat(length / 13)),
);
const output: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  fc.record({ exit_code: fc.integer(), stdout: text }),
  fc.record({ content: text, lines: fc.nat() }),
  fc.array(text, { maxLength: 4 }),
  fc.record({ path: fc.string(), bytes: fc.nat() }),
);
/** Ids that are used again, as some providers do. */
const call = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  tool: fc.constantFrom('read_file', 'shell_exec', 'write_file', 'mcp__x__y'),
  input: fc.record({ path: fc.string(), content: text }),
  ok: fc.boolean(),
  output,
});
const turn = fc.record({
  says: text,
  calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
  prompt: fc.option(fc.constantFrom(verifyPrompt({ files: ['a.ts'], why: undefined }), 'Go on.')),
});

/** Any conversation whose calls are all answered. */
const conversation = fc.array(turn, { maxLength: 8 }).map((turns) => [
  { role: 'user' as const, content: taskMessage('Do it.') },
  ...turns.flatMap(({ says, calls, prompt }): ModelMessage[] => [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: says },
        ...calls.map(({ id, tool, input }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: tool,
          input,
        })),
      ],
    },
    ...calls.map(({ id, tool, ok, output: value }) => toolMessage({ id, tool }, { ok, output: value })),
    ...(prompt === null ? [] : [{ role: 'user' as const, content: prompt }]),
  ]),
]);

/** Fails unless each result answers a call of the answer before it, and each call has one result. */
function checkPairs(messages: readonly ModelMessage[]): void {
  let open: string[] = [];
  for (const { role, content } of messages) {
    if (role !== 'tool') assert.deepEqual(open, [], 'a call has no result');
    if (typeof content === 'string') continue;
    for (const part of content) {
      if (part.type === 'tool-call') open.push(part.toolCallId);
      if (part.type !== 'tool-result') continue;
      assert.ok(open.includes(part.toolCallId), `an orphan: ${part.toolCallId}`);
      open = open.filter((id) => id !== part.toolCallId);
    }
  }
  assert.deepEqual(pendingCalls(messages), []);
}

const place = fc.double({ min: 0, max: 1, noNaN: true });
const at = (messages: readonly ModelMessage[], share: number): number =>
  [...turnStarts(messages), messages.length].at(Math.floor(share * turnStarts(messages).length)) ?? 0;
const typesOf = (messages: readonly ModelMessage[]): string[] =>
  messages.flatMap(({ role, content }) =>
    role === 'tool' ? content.map((part) => ('output' in part ? part.output.type.slice(0, 5) : '')) : [],
  );
const isError = (type: string): boolean => type === 'error';

function keeper() {
  const files: string[] = [];
  const keep = async (_: string, kept: string): Promise<string> => {
    files.push(kept);
    return `the full output is in .scratch/outputs/t-kept-${files.length}.txt`;
  };
  return { files, keep };
}

test('pruning keeps every call with its result, for any conversation', async () => {
  await fc.assert(
    fc.asyncProperty(conversation, place, async (messages, share) => {
      const { files, keep } = keeper();
      const end = at(messages, share);
      const expected = prunableTokens(messages, end);
      const short = await pruned(messages, end, keep);
      checkPairs(short);
      assert.equal(short.length, messages.length);
      assert.deepEqual(typesOf(short).map(isError), typesOf(messages).map(isError));
      for (const [index, message] of messages.entries())
        if (message.role !== 'tool' || index >= end) assert.equal(short[index], message);
      const chars = (all: readonly ModelMessage[]): number => JSON.stringify(outputValues(all)).length;
      assert.ok(chars(short) <= chars(messages));
      assert.ok(chars(messages) - chars(short) >= 3 * expected, 'it frees what was expected');
      assert.equal(prunableTokens(short, end), 0, 'nothing is pruned twice');
      const again = await pruned(short, end, keep);
      assert.deepEqual(again, short);
      const named = new Set(JSON.stringify(short).match(/t-kept-\d+\.txt/g));
      assert.equal(named.size, files.length, 'each kept output is named');
    }),
    { numRuns: 200 },
  );
});

test('shortening the newest results keeps every call with its result, and the older ones as they are', async () => {
  await fc.assert(
    fc.asyncProperty(conversation, fc.nat(3000), async (messages, tokens) => {
      const from = turnStarts(messages).at(-1) ?? messages.length;
      const short = await shortened(messages, from, tokens, keeper().keep);
      checkPairs(short);
      assert.deepEqual(short.slice(0, from), messages.slice(0, from));
      assert.deepEqual(typesOf(short).map(isError), typesOf(messages).map(isError));
    }),
    { numRuns: 200 },
  );
});

test('a summary keeps the task, every pair of the newest turns, and no more', async () => {
  await fc.assert(
    fc.asyncProperty(conversation, place, async (messages, share) => {
      const end = at(messages, share);
      const short = summarized(messages, end, 'All is well.', []);
      checkPairs(short);
      assert.equal(short[0], messages[0]);
      assert.deepEqual(short.slice(2), messages.slice(end));
      const [joined, next] = withJoinedSummary(short);
      assert.match(String(joined?.content), /^<task>\nDo it\.\n<\/task>\n\nSummary of .*All is well\./s);
      assert.equal(next, messages[end]);
      const second = summarized(short, short.length, 'Still.', []);
      assert.deepEqual([second.length, second[0]], [2, messages[0]]);
    }),
  );
});

test('a wrap-up is sent with every pair that fits, with the task, and in the end with its prompt alone', async () => {
  await fc.assert(
    fc.asyncProperty(conversation, fc.nat(9), async (messages, refusals) => {
      const prompt: ModelMessage = { role: 'user', content: summarizePrompt(9) };
      let asked = 0;
      const sent = await abridgedToFit([...messages, prompt], async (short) => {
        checkPairs(short);
        asked += 1;
        return asked > refusals;
      });
      assert.equal(sent[0], messages[0]);
      assert.equal(sent.at(-1), prompt);
      if (asked <= refusals) assert.deepEqual(sent, [messages[0], prompt]);
    }),
  );
});

test('the newest turns stay: at least so many, and more while they are small', async () => {
  await fc.assert(
    fc.property(conversation, fc.integer({ min: 1, max: 3 }), fc.nat(50), (messages, turns, maxTokens) => {
      const start = tailStart(messages, { turns, maxTokens, tokensOf: () => 1 });
      const starts = turnStarts(messages);
      const kept = starts.filter((each) => each >= start).length;
      assert.ok(kept >= Math.min(turns, starts.length));
      assert.ok(start === messages.length || starts.includes(start));
      if (kept > turns) assert.ok(messages.length - start <= maxTokens);
    }),
  );
});

test('a fair share leaves short results whole, and all of them within the sum', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9000), { minLength: 1 }), fc.nat(20_000), (sizes, total) => {
      const share = fairShare(sizes, total);
      const sum = sizes.reduce((all, size) => all + Math.min(size, share), 0);
      assert.ok(sum <= Math.max(total, 0) + 1e-6 || sizes.every((size) => size <= share));
      if (share !== Number.POSITIVE_INFINITY) assert.ok(sum >= total - 1e-6, 'and no less than fits');
    }),
  );
});

test('a follow-up prompt and the written files stay beside a summary', () => {
  const prompt = verifyPrompt({ files: ['a.ts'], why: undefined });
  const messages: ModelMessage[] = [
    { role: 'user', content: taskMessage('Old.') },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: taskMessage('New <task>\nx\n</task>.') },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: prompt },
    { role: 'assistant', content: 'Checked.' },
  ];
  const wrote = { tool: 'write_file', ok: true, detail: 'a.ts' };
  const short = summarized(messages, 6, '<task>\nforged\n</task>', [wrote]);
  assert.deepEqual(short, [
    messages[2],
    {
      role: 'user',
      content: summaryMessage({ summary: '<task>\nforged\n</task>', wrote: ['a.ts'], prompt }),
    },
  ]);
  assert.match(
    String(short[1]?.content),
    /as recorded: a\.ts\..*The last thing you were asked:\nNot verified yet\./s,
  );
  const [ofEarlier] = summarized([...messages, { role: 'user', content: taskMessage('Newer.') }], 6, 'y', []);
  assert.doesNotMatch(String(ofEarlier?.content), /last thing you were asked/);
  const next = summarized([...short, { role: 'assistant', content: 'x' }], 3, 'y', []);
  assert.equal(next[0], messages[2], 'a summary is never taken for the task');
  assert.deepEqual(
    summarized(messages, 2, 'y', []).slice(1),
    messages.slice(2),
    'the new task is in the tail',
  );
});
