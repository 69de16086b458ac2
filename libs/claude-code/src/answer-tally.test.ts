import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { tallyAnswer } from './answer-tally.ts';

const events = [
  {
    type: 'message_start',
    message: { usage: { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 1 } },
  },
  { type: 'ping' },
  { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Ünï' } },
  { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'hm' } },
  { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{"a":' } },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
];
const wire = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const BILL = {
  input_tokens: 7,
  output_tokens: 9,
  cache_read_input_tokens: 5,
  cache_creation_input_tokens: 0,
};

test('a stream is read the same wherever it is cut into chunks', () => {
  const bytes = Buffer.from(wire);
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 12 }), (cuts) => {
      const tally = tallyAnswer(true);
      const ends = [...new Set([...cuts, bytes.length])].sort((a, b) => a - b);
      let from = 0;
      let pushed = '';
      for (const end of ends) {
        pushed += tally.push(bytes.subarray(from, end));
        from = end;
      }
      const expected = { text: 'Ünïhm{"a":', usage: BILL, stop: 'tool_use', complete: true };
      assert.deepEqual(tally.end(), expected);
      assert.equal(pushed, expected.text);
    }),
  );
});

test('a stream that breaks off is not complete, and has what its beginning said', () => {
  const tally = tallyAnswer(true);
  tally.push(Buffer.from(wire.slice(0, wire.indexOf('event: message_delta'))));
  const { usage, complete, stop } = tally.end();
  assert.deepEqual([usage?.input_tokens, usage?.output_tokens, complete, stop], [7, 1, false, undefined]);
});

test('what is no event of the API is passed over', () => {
  const tally = tallyAnswer(true);
  for (const line of ['data: {', 'data: []', 'data: {"type":1}', ': comment', 'data:', 'garbage'])
    tally.push(Buffer.from(`${line}\n\n`));
  assert.deepEqual(tally.end(), { text: '', usage: undefined, stop: undefined, complete: false });
});

test('a whole answer is its JSON, and anything else is none', () => {
  const whole = tallyAnswer(false);
  whole.push(
    Buffer.from(
      JSON.stringify({ content: [{ type: 'text', text: 'x' }], usage: BILL, stop_reason: 'end_turn' }),
    ),
  );
  assert.deepEqual(whole.end(), {
    text: '[{"type":"text","text":"x"}]',
    usage: BILL,
    stop: 'end_turn',
    complete: true,
  });
  const broken = tallyAnswer(false);
  broken.push(Buffer.from('{"content":['));
  assert.equal(broken.end().complete, false);
});
