import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelMessage } from 'ai';
import { withoutLoneThinking } from './lone-thinking.ts';

const CALL = { type: 'tool-call', toolCallId: 'c', toolName: 'read_file', input: {} } as const;
const RESULT: ModelMessage = {
  role: 'tool',
  content: [
    {
      type: 'tool-result',
      toolCallId: 'c',
      toolName: 'read_file',
      output: { type: 'text', value: '</think>' },
    },
  ],
};
const reasoning = (text: string) => ({ type: 'reasoning' as const, text });
const text = (words: string) => ({ type: 'text' as const, text: words });

describe('a text before a lone closing tag is reasoning', () => {
  const ROWS: readonly [what: string, said: string, thought: string, answer: string][] = [
    [
      'and the text after it the answer',
      'A number: 42.\n</think>\n\n{"answer":42}',
      'A number: 42.\n',
      '{"answer":42}',
    ],
    ['on the line of the answer', 'Hm.</think>{"answer":42}', 'Hm.', '{"answer":42}'],
    ['by the longer tag, in any case', 'Hm.\n</THINKING>\nYes.', 'Hm.\n', 'Yes.'],
    [
      'that quotes code',
      'Run `ls`:\n```sh\nls\n```\nso\n</think>\nYes.',
      'Run `ls`:\n```sh\nls\n```\nso\n',
      'Yes.',
    ],
    ['that quotes the tag', 'It is `</think>`.\n</think>\nYes.', 'It is `</think>`.\n', 'Yes.'],
    ['and a tag after that is text', 'a</think>b</think>c', 'a', 'b</think>c'],
    ['and thinking after that is text', 'a</think>b <think>c</think>', 'a', 'b <think>c</think>'],
    ['and may be empty', '\n</think>\n\nYes.', '', 'Yes.'],
    ['and may be all', 'Hm.\n</think>\n', 'Hm.\n', ''],
  ];
  for (const [what, said, thought, answer] of ROWS)
    it(what, () => {
      const parts = [
        ...(thought === '' ? [] : [reasoning(thought)]),
        ...(answer === '' ? [] : [text(answer)]),
      ];
      for (const content of [said, [text(said)]])
        assert.deepEqual(withoutLoneThinking([{ role: 'assistant', content }]), [
          { role: 'assistant', content: parts },
        ]);
    });
});

describe('a text stays as it is', () => {
  const ROWS: readonly [what: string, said: string][] = [
    ['without a tag', 'Yes.'],
    ['with both tags', 'Use <think>x</think> here.'],
    ['with a tag as a word', 'I removed the stray </think> tag from a.html.'],
    ['with a tag in backticks', 'The tag `</think>` ends it, as ``</think>`` does.'],
    ['with a tag in a block', 'So:\n\n```html\nx\n</think>\n```\n\nDone.'],
    ['with a tag in a block that is not closed', 'So:\n~~~\n</think>\nx'],
    ['with another tag', 'a</thinker>b'],
    ['with a space in the tag', 'a< /think>b'],
  ];
  for (const [what, said] of ROWS)
    it(what, () => {
      const messages: ModelMessage[] = [{ role: 'assistant', content: said }];
      assert.deepEqual(withoutLoneThinking(messages), messages);
    });

  it('where only a later text, a result or a request has the tag', () => {
    const messages: ModelMessage[] = [
      { role: 'user', content: 'a</think>b' },
      { role: 'assistant', content: [reasoning('x</think>y'), text('Yes.'), CALL, text('a</think>b')] },
      RESULT,
      { role: 'assistant', content: 'a</think>b' },
    ];
    assert.deepEqual(withoutLoneThinking(messages), messages);
    assert.deepEqual(withoutLoneThinking([]), []);
  });
});

it('the calls and the reasoning of an answer stay around its thinking, in their order', () => {
  const messages: ModelMessage[] = [
    { role: 'assistant', content: [reasoning('first'), text('then</think>now'), CALL] },
    RESULT,
  ];
  assert.deepEqual(withoutLoneThinking(messages), [
    { role: 'assistant', content: [reasoning('first'), reasoning('then'), text('now'), CALL] },
    RESULT,
  ]);
});

it('a hostile text takes linear time', () => {
  for (const part of ['`', '``` \n', '</think', '`a` ', '~~~\n', '<', '`</think>` '])
    withoutLoneThinking([{ role: 'assistant', content: part.repeat(50_000) }]);
});
