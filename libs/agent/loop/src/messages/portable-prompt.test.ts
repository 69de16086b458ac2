import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModelV4, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { withPortablePrompt } from './portable-prompt.ts';

const TOOLS = [{ type: 'function' as const, name: 'write_file', inputSchema: {} }];

/** The conversation as a model is sent it. */
async function sentFor(prompt: LanguageModelV4Prompt, provider = 'test'): Promise<LanguageModelV4Prompt> {
  const sent: LanguageModelV4Prompt[] = [];
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider,
    modelId: 'test',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream: async (options) => {
      sent.push(options.prompt);
      return { stream: ReadableStream.from([]) };
    },
  };
  await withPortablePrompt(model).doStream({ prompt, tools: TOOLS });
  return sent[0] ?? assert.fail();
}

const user = (text: string): LanguageModelV4Prompt[number] => ({
  role: 'user',
  content: [{ type: 'text', text }],
});

/** A call and its result. */
function called(
  toolCallId: string,
  toolName: string,
  providerOptions?: SharedV4ProviderOptions,
): LanguageModelV4Prompt {
  const options = providerOptions && { providerOptions };
  return [
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input: {}, ...options }] },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: 'ok' } }],
    },
  ];
}

const callsIn = (prompt: LanguageModelV4Prompt) =>
  prompt.flatMap(({ role, content }) =>
    role === 'user' || role === 'system'
      ? []
      : content.flatMap((part) => ('toolCallId' in part ? [[part.toolCallId, part.toolName]] : [])),
  );

test('ids are short and unique, and each result has that of its call', async () => {
  const prompt = [
    ...called('functions.write_file:0', 'write_file'),
    ...called('abc123XYZ', 'write_file'),
    ...called('functions.write_file:0', 'write_file'),
    ...called('abc123XYZ', 'write_file'),
  ];
  const ids = callsIn(await sentFor(prompt)).map(([id]) => String(id));
  for (const id of ids) assert.match(id, /^[A-Za-z0-9]{1,9}$/);
  const pairs = [0, 2, 4, 6].map((at) => ids.slice(at, at + 2));
  for (const [call, result] of pairs) assert.equal(call, result);
  assert.equal(new Set(ids).size, 4);
  assert.equal(ids[2], 'abc123XYZ');
});

test('an id that OpenAI looks for stays with OpenAI', async () => {
  const prompt = called('call_0123456789abcdef', 'write_file', { openai: { itemId: 'fc_1' } });
  const kept = ['call_0123456789abcdef', 'write_file'];
  assert.deepEqual(callsIn(await sentFor(prompt, 'openai.responses')), [kept, kept]);
  const other = ['call00001', 'write_file'];
  assert.deepEqual(
    callsIn(await sentFor(prompt, 'mistral.chat')),
    [other, other],
    'a fallback has none of them',
  );
});

test('a name that any provider takes stays, and another becomes that of the tool, or a valid one', async () => {
  const prompt = [...called('a', 'Write'), ...called('b', 'functions.write_file'), ...called('c', 'a b/c')];
  const names = callsIn(await sentFor(prompt)).map(([, name]) => name);
  assert.deepEqual(names, ['Write', 'Write', 'write_file', 'write_file', 'a_b_c', 'a_b_c']);
});

test('an answer without text and calls is not sent, and the messages around it are one', async () => {
  const empty: LanguageModelV4Prompt[number] = {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: ' ' },
    ],
  };
  assert.deepEqual(await sentFor([user('a'), empty, user('b')]), [user('a\n\nb')]);
});
