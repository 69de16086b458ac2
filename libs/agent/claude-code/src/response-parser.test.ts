import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createResponseParser } from './response-parser.ts';

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

test('the chunk boundaries of a stream do not matter', () => {
  const bytes = Buffer.from(wire);
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 12 }), (cuts) => {
      const parser = createResponseParser(true);
      const ends = [...new Set([...cuts, bytes.length])].sort((a, b) => a - b);
      let from = 0;
      let pushed = '';
      for (const end of ends) {
        pushed += parser.push(bytes.subarray(from, end));
        from = end;
      }
      const expected = { text: 'Ünïhm{"a":', usage: BILL, stopReason: 'tool_use', complete: true };
      assert.deepEqual(parser.end(), expected);
      assert.equal(pushed, expected.text);
    }),
  );
});

test('an interrupted stream is incomplete and has the usage of its first event', () => {
  const parser = createResponseParser(true);
  parser.push(Buffer.from(wire.slice(0, wire.indexOf('event: message_delta'))));
  const { usage, complete, stopReason } = parser.end();
  assert.deepEqual(
    [usage?.input_tokens, usage?.output_tokens, complete, stopReason],
    [7, 1, false, undefined],
  );
});

test('lines that are not events of the API are ignored', () => {
  const parser = createResponseParser(true);
  for (const line of ['data: {', 'data: []', 'data: {"type":1}', ': comment', 'data:', 'garbage'])
    parser.push(Buffer.from(`${line}\n\n`));
  assert.deepEqual(parser.end(), { text: '', usage: undefined, stopReason: undefined, complete: false });
});

test('a response without streaming is complete when it is valid JSON', () => {
  const whole = createResponseParser(false);
  whole.push(
    Buffer.from(
      JSON.stringify({ content: [{ type: 'text', text: 'x' }], usage: BILL, stop_reason: 'end_turn' }),
    ),
  );
  assert.deepEqual(whole.end(), {
    text: '[{"type":"text","text":"x"}]',
    usage: BILL,
    stopReason: 'end_turn',
    complete: true,
  });
  const broken = createResponseParser(false);
  broken.push(Buffer.from('{"content":['));
  assert.equal(broken.end().complete, false);
});
