import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { APICallError } from 'ai';
import { type ContextOverflow, contextOverflow } from './context-overflow.ts';

/** The errors of providers as they reach the loop: the wire's body below the causes that are added on the way. */
const refused = (statusCode: number, responseBody: string): FleetError => {
  const call = new APICallError({
    message: 'Bad Request',
    url: 'http://127.0.0.1',
    requestBodyValues: {},
    statusCode,
    responseBody,
  });
  const retried = Object.assign(new Error('Failed after 3 attempts'), { lastError: call });
  return new FleetError('MODEL_FAILED', `the model's provider answered ${statusCode}`, { cause: retried });
};

const error = (message: string, rest: object = {}): string =>
  JSON.stringify({ error: { message, type: 'invalid_request_error', ...rest } });

/** Bodies of the providers' documented and reported errors, and what they say. */
const TOO_LONG: readonly [what: string, status: number, body: string, says: ContextOverflow][] = [
  [
    'OpenAI, DeepSeek, vLLM',
    400,
    error(
      "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
      { code: 'context_length_exceeded' },
    ),
    { limit: 16_384, input: 112_946 },
  ],
  [
    'OpenAI, older',
    400,
    error(
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 13393 tokens.",
    ),
    { limit: 4097, input: 13_393 },
  ],
  [
    'OpenAI, by its code',
    400,
    error('Your input exceeds the context window of this model.', { code: 'context_length_exceeded' }),
    {},
  ],
  [
    'vLLM, by the input',
    400,
    error(
      "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.",
    ),
    { limit: 8192, input: 9000 },
  ],
  [
    'vLLM, by the answer',
    400,
    error(
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 500 input tokens (8192 > 8192 - 500).",
    ),
    { limit: 8192, input: 500 },
  ],
  [
    'OpenRouter',
    400,
    error(
      "This endpoint's maximum context length is 1048576 tokens. However, you requested about 1293741 tokens (1227853 of text input, 353 of tool input, 65535 in the output).",
    ),
    { limit: 1_048_576, input: 1_227_853 },
  ],
  ['Groq', 413, error('Please reduce the length of the messages or completion.'), {}],
  [
    'Anthropic',
    400,
    error('prompt is too long: 208310 tokens > 200000 maximum'),
    { limit: 200_000, input: 208_310 },
  ],
  [
    'Anthropic, with the answer',
    400,
    error('input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease it'),
    { limit: 200_000, input: 178_959 },
  ],
  [
    'llama.cpp',
    400,
    error('the request exceeds the available context size, try increasing it', {
      type: 'exceed_context_size_error',
      n_prompt_tokens: 5421,
      n_ctx: 4096,
    }),
    { limit: 4096, input: 5421 },
  ],
  [
    'llama.cpp, newer',
    400,
    error('request (5421 tokens) exceeds the available context size (4096 tokens), try increasing it'),
    { limit: 4096, input: 5421 },
  ],
  [
    'LM Studio',
    400,
    error('the number of tokens to keep from the initial prompt is greater than the context length'),
    {},
  ],
  ['Ollama', 400, '{"error":"the input length exceeds the context length"}', {}],
  ['Ollama, newer', 400, '{"error":"prompt too long; exceeded max context length by 812 tokens"}', {}],
  [
    'Gemini',
    400,
    error('The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'),
    { limit: 1_048_575, input: 1_196_265 },
  ],
  [
    'xAI',
    400,
    error("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    { limit: 131_072, input: 537_812 },
  ],
  ['a proxy that takes no such body', 413, '<html>Request Entity Too Large</html>', {}],
];

for (const [what, status, body, says] of TOO_LONG)
  test(`a context that is too long is recognized: ${what}`, () => {
    assert.deepEqual(contextOverflow(refused(status, body)), says);
  });

test('an error inside a stream, which has no status, is recognized', () => {
  const cause = { code: 400, message: "This endpoint's maximum context length is 8192 tokens." };
  assert.deepEqual(contextOverflow(new FleetError('MODEL_FAILED', 'x', { cause })), { limit: 8192 });
  const nested = { error: { message: 'too long', code: 'context_length_exceeded' } };
  assert.ok(contextOverflow(nested));
});

test('other refusals are not mistaken for it', () => {
  for (const [status, body] of [
    [429, error('Request too large on tokens per min (TPM): Limit 30000, Requested 40000.')],
    [429, error("This model's maximum context length is 8192 tokens.")],
    [400, error("Unsupported parameter: 'max_tokens' is not supported with this model.")],
    [400, error('messages: roles must alternate between user and assistant')],
    [400, error("Invalid tool schema: 'the model's context length is explained in the documents'")],
    [401, error('invalid key')],
    [503, error('overloaded')],
  ] as const)
    assert.equal(contextOverflow(refused(status, body)), undefined, body);
  for (const other of [undefined, null, 'context', new Error('the budget is spent'), { cause: 3 }])
    assert.equal(contextOverflow(other), undefined);
});

test('an error that is its own cause ends the search', () => {
  const loop: { message: string; cause?: unknown } = { message: 'x' };
  loop.cause = loop;
  assert.equal(contextOverflow(loop), undefined);
});
