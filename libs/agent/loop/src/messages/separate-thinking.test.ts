import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { call, type Reply, say } from '../../testing/scripted-server.ts';
import { separatingStream } from './separate-thinking.ts';

/** What a text becomes that arrives in pieces of this size; every part must be opened before and closed after. */
async function separated(text: string, size: number): Promise<{ thought: string; said: string }> {
  const deltas = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: 't' },
    ...deltas.map((delta) => ({ type: 'text-delta' as const, id: 't', delta })),
    { type: 'text-end', id: 't' },
  ];
  const found = { thought: '', said: '' };
  const open = new Set<string>();
  for await (const part of ReadableStream.from(parts).pipeThrough(separatingStream())) {
    if (part.type === 'text-start' || part.type === 'reasoning-start') open.add(part.id);
    if (part.type === 'text-end' || part.type === 'reasoning-end') assert.ok(open.delete(part.id));
    if (part.type !== 'text-delta' && part.type !== 'reasoning-delta') continue;
    assert.ok(open.has(part.id), 'opened before');
    found[part.type === 'text-delta' ? 'said' : 'thought'] += part.delta;
  }
  assert.equal(open.size, 0, 'closed after');
  return found;
}

describe('the thinking in a text', () => {
  const ROWS: readonly (readonly [what: string, text: string, thought: string, said: string])[] = [
    ['before the answer', '<think>\nwhy?\n</think>\n\nBecause.', '\nwhy?\n', 'Because.'],
    ['in the longer tag', '<thinking>why?</thinking>Because.', 'why?', 'Because.'],
    ['after white space', '\n <think>a</think>b', 'a', 'b'],
    ['in upper case', '<THINK>a</think>B', 'a', 'B'],
    ['in mixed case', '<Thinking>a</THINKING>b', 'a', 'b'],
    ['that is empty', '<think></think>b', '', 'b'],
    ['that is never closed', '<think>I wonder </thin', 'I wonder </thin', ''],
    ['in the middle of an answer is text', 'Use <think>x</think> here.', '', 'Use <think>x</think> here.'],
    ['after thinking is text', '<think>a</think>b <think>c</think>', 'a', 'b <think>c</think>'],
    ['again right after thinking is text', '<think>a</think><think>b</think>', 'a', '<think>b</think>'],
    ['with another tag is text', '<thinker>x</thinker>', '', '<thinker>x</thinker>'],
    ['that is only begun is text', '<thin', '', '<thin'],
    ['that closes another tag goes on', '<think>a</thinking>b</think>c', 'a</thinking>b', 'c'],
    ['of an answer without any', '  Plain.', '', '  Plain.'],
    ['of an empty answer', '', '', ''],
  ];
  for (const [what, text, thought, said] of ROWS)
    it(`${what}, however it is streamed`, async () => {
      for (const size of [1, 2, 3, 7, 1000])
        assert.deepEqual(await separated(text, size), { thought, said }, `${size}`);
    });
});

it('text is passed on as it arrives, once it cannot be a tag any more', async () => {
  const stream = separatingStream();
  const [writer, reader] = [stream.writable.getWriter(), stream.readable.getReader()];
  const write = (delta: string) => void writer.write({ type: 'text-delta', id: 't', delta });
  const deltas: unknown[] = [];
  for (const delta of ['<th', 'e answer', ' is', ' 4']) {
    write(delta);
    if (delta === '<th') continue;
    let { value } = await reader.read();
    if (value?.type === 'text-start') ({ value } = await reader.read());
    deltas.push(value?.type === 'text-delta' && value.delta);
  }
  assert.deepEqual(deltas, ['<the answer', ' is', ' 4']);
});

describe('a model that thinks in its text', () => {
  const USAGE = { prompt_tokens: 900, completion_tokens: 40 };

  it('is answered for by its text alone: in the result, in the structured reply and in events', async (t) => {
    const json = '<think>\nI could say ```outcome\n{"status":"error"}\n```\n</think>\n\nIt is 4.';
    const run = await scriptedAgent(t, () => say(json, USAGE));
    const { result, context } = await run();
    assert.deepEqual([result.status, result.text], ['done', 'It is 4.'], JSON.stringify(result));
    const shown = context.events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
    assert.equal(shown, 'It is 4.');
    assert.equal(context.budget.usage().outputTokens, 40, 'thinking counts');
  });

  it('may call tools after it, and gets its thinking back as reasoning', async (t) => {
    const run = await scriptedAgent(t, (turn): Reply => {
      if (turn > 1) return say('Listed.', USAGE);
      const deltas = [{ content: '<think>look first</thi' }, { content: 'nk>' }, call('c', 'list_files', {})];
      return { deltas, finish: 'tool_calls', usage: USAGE };
    });
    const { result, requests } = await run();
    assert.deepEqual([result.status, result.text], ['done', 'Listed.'], JSON.stringify(result));
    const answer = requests[1]?.messages.find(({ role }) => role === 'assistant');
    assert.deepEqual([answer?.reasoning_content, answer?.content], ['look first', null]);
  });

  it('is asked for a reply when it only thought', async (t) => {
    const run = await scriptedAgent(t, [say('<think>hm', USAGE), say('Here.', USAGE)]);
    const { result, requests } = await run();
    assert.deepEqual([result.text, requests.length], ['Here.', 2], JSON.stringify(result));
  });
});
