import { type Dialect, halves, OUTPUT, objects, type Step, sse, USAGE, WAIT_S } from './dialect.ts';

/** https://docs.claude.com/en/docs/build-with-claude/streaming */
function answer({ turn, thinking, call, text }: Step): string {
  const message = { id: `msg_${turn}`, type: 'message', role: 'assistant', model: 'm', content: [] };
  const usage = {
    input_tokens: USAGE.fresh,
    cache_read_input_tokens: USAGE.cached,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };
  const at = (index: number, block: object, deltas: object[]): object[] => [
    { type: 'content_block_start', index, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const second =
    call === undefined
      ? at(
          1,
          { type: 'text', text: '' },
          halves(text ?? '').map((part) => ({ type: 'text_delta', text: part })),
        )
      : at(
          1,
          { type: 'tool_use', id: `toolu_${turn}`, name: call.name, input: {} },
          halves(JSON.stringify(call.args)).map((part) => ({ type: 'input_json_delta', partial_json: part })),
        );
  return sse(
    [
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } },
      { type: 'ping' },
      ...at(0, { type: 'thinking', thinking: '', signature: '' }, [
        ...halves(thinking).map((part) => ({ type: 'thinking_delta', thinking: part })),
        { type: 'signature_delta', signature: `signed-${turn}` },
      ]),
      ...second,
      {
        type: 'message_delta',
        delta: { stop_reason: call === undefined ? 'end_turn' : 'tool_use', stop_sequence: null },
        usage: { output_tokens: OUTPUT },
      },
      { type: 'message_stop' },
    ],
    true,
  );
}

export const anthropic: Dialect = {
  provider: 'Anthropic',
  package: '@ai-sdk/anthropic',
  config: { model: 'anthropic/claude-opus-4-6', api_key_env: 'MODEL_KEY' },
  base: '',
  path: '/v1/messages',
  keyHeader: 'x-api-key',
  answer,
  refusal: {
    headers: { 'retry-after': String(WAIT_S) },
    body: { type: 'error', error: { type: 'rate_limit_error', message: 'Rate limit reached' } },
  },
  saysWait: true,
  countsThinking: false,
  ids: ({ messages }) => {
    const blocks = objects(messages).flatMap(({ content }) => objects(content));
    return {
      calls: blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id),
      results: blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id: id }) => id),
    };
  },
  returned: ({ messages }) => objects(objects(messages).find(({ role }) => role === 'assistant')?.content)[0],
  thought: { type: 'thinking', thinking: 'I think 1.', signature: 'signed-1' },
};
