import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { ModelMessage } from 'ai';
import fc from 'fast-check';
import { continuedMessages, furtherTaskMessage } from './earlier-messages.ts';
import { readTask } from './task-message.ts';

const asked = (content: string): JsonObject => ({ role: 'user', content });
const answered = (content: JsonValue): JsonObject => ({ role: 'assistant', content });
const calls = (...ids: string[]): JsonObject =>
  answered(ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 't', input: { a: 'x' } })));
const gives = (toolCallId: string, value = 'ok'): JsonObject => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 't', output: { type: 'text', value } }],
});

const of = (messages: readonly JsonValue[], isWhole = true) => ({ messages, isWhole, result: {} });
const continued = async (messages: readonly JsonValue[], maxTokens = Number.POSITIVE_INFINITY) =>
  (await continuedMessages(of(messages), maxTokens)) ?? assert.fail('unreadable');

test('a finished conversation goes over as it is, without what belongs to its model', async () => {
  const options = { providerOptions: { openai: { itemId: 'rs_1' } } };
  const { messages, isWhole } = await continued([
    asked('<task>\na\n</task>'),
    answered([
      { type: 'reasoning', text: 'secret thoughts', ...options },
      { type: 'text', text: 'I look.', ...options },
      { type: 'tool-call', toolCallId: 'c1', toolName: 't', input: { a: 1 }, ...options },
    ]),
    { role: 'tool', content: [{ ...resultPart('c1'), ...options }], ...options },
    answered([{ type: 'reasoning', text: 'more' }]),
    answered('Done.'),
  ]);
  assert.equal(isWhole, true);
  assert.deepEqual(messages, [
    asked('<task>\na\n</task>'),
    answered([
      { type: 'text', text: 'I look.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 't', input: { a: 1 } },
    ]),
    { role: 'tool', content: [resultPart('c1')] },
    answered('Done.'),
  ]);
});

const resultPart = (toolCallId: string): JsonObject => ({
  type: 'tool-result',
  toolCallId,
  toolName: 't',
  output: { type: 'text', value: 'ok' },
});

test('the calls of a conversation that was cut off are answered, and it ends with the assistant', async () => {
  const { messages } = await continued([asked('a'), calls('c1', 'c2'), gives('c1')]);
  const [last, unanswered] = [messages.at(-1), messages.at(-2)];
  assert.match(JSON.stringify(unanswered), /"toolCallId":"c2".*"error-text".*check before repeating it/);
  assert.deepEqual(last, answered('[The task ended here, without an answer.]'));
  const asks = await continued([asked('a')]);
  assert.deepEqual(
    asks.messages.map(({ role }) => role),
    ['user', 'assistant'],
  );
});

test('long results are truncated before messages are left out, and the newest stay', async () => {
  const long = 'word '.repeat(2_000);
  const turns = ['1', '2', '3'].flatMap((id) => [
    asked(`ask ${id}`),
    calls(id),
    gives(id, long),
    answered(`said ${id}`),
  ]);
  const shorter = await continued(turns, 2_000);
  assert.deepEqual([shorter.messages.length, shorter.isWhole], [12, true]);
  assert.match(JSON.stringify(shorter.messages[2]), /cut to save tokens/);
  const { messages, isWhole } = await continued(turns, 300);
  assert.equal(isWhole, false);
  assert.ok(messages.length < 12);
  assert.deepEqual([messages[0]?.role, messages.at(-1)], ['user', answered('said 3')]);
  assert.deepEqual((await continued(turns, 5)).messages, []);
});

test('a beginning that the ledger left out is said, and no result is without its call', async () => {
  const cutOff = await continuedMessages(
    of([gives('c0'), calls('c1'), gives('c1'), answered('b')], false),
    1e9,
  );
  assert.deepEqual(
    cutOff?.messages.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant'],
  );
  assert.match(JSON.stringify(cutOff?.messages[0]), /beginning of this conversation is left out/);
  assert.equal(cutOff?.isWhole, false);
});

test('what is no conversation is not read', async () => {
  for (const messages of [['text'], [{ role: 'nobody', content: 'x' }], [null]])
    assert.equal(await continuedMessages(of(messages), 1e9), undefined);
});

/** Turns of a loop: a question, steps with calls and their results, an answer. The last may be cut off anywhere. */
const turn = fc
  .tuple(
    fc.string({ maxLength: 300 }),
    fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 800 })), { maxLength: 4 }),
  )
  .map(([text, steps]) => [
    asked(`q${text}`),
    ...steps.flatMap(([count, size]) => {
      const ids = Array.from({ length: count + 1 }, (_, index) => `call-${index}`);
      return [calls(...ids), ...ids.map((id) => gives(id, 'y'.repeat(size)))];
    }),
    answered(`a${text}`),
  ]);

test('whatever is left of a conversation, calls and results belong together, and it fits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { minLength: 1, maxLength: 4 }),
      fc.nat({ max: 12 }),
      fc.nat({ max: 600 }),
      fc.boolean(),
      async (turns, cut, maxTokens, fromMiddle) => {
        const all = turns.flat();
        const kept = all.slice(
          fromMiddle ? Math.min(cut, all.length - 1) : 0,
          all.length - (fromMiddle ? 0 : cut),
        );
        const { messages } = (await continuedMessages(of(kept), maxTokens)) ?? assert.fail();
        assertValid(messages);
        const size = await countTokens(JSON.stringify(messages));
        assert.ok(size <= maxTokens + 40, `${size} tokens of ${maxTokens}`);
      },
    ),
    { numRuns: 300 },
  );
});

function assertValid(messages: readonly ModelMessage[]): void {
  if (messages.length === 0) return;
  assert.deepEqual([messages[0]?.role, messages.at(-1)?.role], ['user', 'assistant']);
  let open: string[] = [];
  for (const { role, content } of messages) {
    if (role !== 'tool') assert.deepEqual(open, [], 'every call has a result');
    for (const part of typeof content === 'string' ? [] : content) {
      if (part.type === 'tool-call') open.push(part.toolCallId);
      if (part.type !== 'tool-result') continue;
      assert.ok(open.includes(part.toolCallId), 'every result has a call');
      open = open.filter((id) => id !== part.toolCallId);
    }
  }
  assert.deepEqual(open, []);
}

test('the message of a further task has its brief, how the last one ended, and nothing that ends the brief', () => {
  const result = {
    status: 'partial',
    error: { code: 'canceled', message: 'the caller\n</task> canceled it', retryable: false },
    remaining: ['one', 'two'.repeat(500), ...'34567'],
    next_steps: ['verify a.py: nothing was checked'],
  };
  const message = furtherTaskMessage('Go on.', { isWhole: false, result });
  assert.equal(readTask(message), 'Go on.');
  assert.ok(message.startsWith('<task>\n'));
  for (const said of [
    /further message of the same caller/,
    /left out/,
    /ended as partial/,
    /the caller <\/task> canceled it/,
  ])
    assert.match(message, said);
  assert.match(message, /It left open: one; (?:two)+t?w?; 3; 4; 5\. Its next steps: verify a\.py/);
  assert.ok(message.length < 1_200);
  assert.doesNotMatch(furtherTaskMessage('x', { isWhole: true, result: { status: 'done' } }), /ended|left/);
});
