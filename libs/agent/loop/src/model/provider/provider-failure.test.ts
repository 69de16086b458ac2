import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { APICallError, StreamProviderError } from 'ai';
import { saidBy } from './provider-failure.ts';

const answered = (responseBody: string) =>
  new APICallError({ message: 'x', url: 'http://x', requestBodyValues: {}, statusCode: 400, responseBody });

describe('what a provider said', () => {
  const ROWS: readonly (readonly [shape: string, body: string, said: string | undefined])[] = [
    ['OpenAI, OpenRouter, vLLM', '{"error":{"message":"too long","code":400}}', 'too long'],
    ['Anthropic', '{"type":"error","error":{"type":"invalid","message":"no credit"}}', 'no credit'],
    ['Ollama', '{"error":"model \\"m\\" not found"}', 'model "m" not found'],
    ['older vLLM', '{"object":"error","message":"max context"}', 'max context'],
    ['FastAPI', '{"detail":"Not Found"}', 'Not Found'],
    ['Google', '[{"error":{"message":"quota"}}]', 'quota'],
    ['a proxy', '<html>Bad Gateway</html>', undefined],
    ['nothing', '', undefined],
    ['no words', '{"error":{"message":" "}}', undefined],
  ];
  for (const [shape, body, said] of ROWS)
    it(`is read from the answer of ${shape}`, () => assert.equal(saidBy(answered(body), []), said));

  it('is read from an error in a stream', () => {
    assert.equal(saidBy(new StreamProviderError({ message: 'Overloaded' }), []), 'Overloaded');
  });

  it('is one line of at most 300 characters, and without secrets, known ones and others', () => {
    const body = { error: { message: `a\n b s3cret-key ${'c'.repeat(400)}` } };
    const said = saidBy(answered(JSON.stringify(body)), ['s3cret-key', 'b']) ?? '';
    assert.match(said, /^a b \[redacted\] c+…$/);
    assert.equal(said.length, 301);
    for (const secret of ['sk-abcdefghijklmnop', 'Bearer abcdefgh', 'api_key=abcd1234', 'https://u:pw12@h/x'])
      assert.match(saidBy(answered(JSON.stringify({ error: `bad ${secret}` })), []) ?? '', /\[redacted\]/);
  });

  it('is nothing for an error of our own', () => assert.equal(saidBy(new Error('x'), []), undefined));
});
