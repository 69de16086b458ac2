import type { JsonObject } from '@hermes-fleet/protocol';
import { halves, INPUT, OUTPUT, objects, type Step, sse, USAGE } from './dialect.ts';

const usage = {
  input_tokens: INPUT,
  input_tokens_details: { cached_tokens: USAGE.cached },
  output_tokens: OUTPUT,
  output_tokens_details: { reasoning_tokens: USAGE.thought },
  total_tokens: INPUT + OUTPUT,
};

/** https://platform.openai.com/docs/api-reference/responses-streaming */
function answer({ turn, thinking, call, text }: Step): string {
  const frame = { id: `resp_${turn}`, object: 'response', created_at: 1, model: 'm', output: [] };
  const thought = `rs_${turn}`;
  const reasoning = { id: thought, type: 'reasoning', summary: [], status: 'completed' };
  const summary = { item_id: thought, output_index: 0, summary_index: 0 };
  const done = {
    ...reasoning,
    encrypted_content: `sealed-${turn}`,
    summary: [{ type: 'summary_text', text: thinking }],
  };
  return sse(
    [
      { type: 'response.created', response: { ...frame, status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: reasoning },
      {
        type: 'response.reasoning_summary_part.added',
        ...summary,
        part: { type: 'summary_text', text: '' },
      },
      ...halves(thinking).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...summary,
        delta,
      })),
      {
        type: 'response.reasoning_summary_part.done',
        ...summary,
        part: { type: 'summary_text', text: thinking },
      },
      { type: 'response.output_item.done', output_index: 0, item: done },
      ...(call === undefined ? said(turn, text ?? '') : called(turn, call)),
      { type: 'response.completed', response: { ...frame, status: 'completed', usage } },
    ],
    true,
  );
}

function said(turn: number, text: string): object[] {
  const at = { item_id: `msg_${turn}`, output_index: 1, content_index: 0 };
  const item = { id: at.item_id, type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const content = [{ type: 'output_text', text, annotations: [] }];
  return [
    { type: 'response.output_item.added', output_index: 1, item },
    ...halves(text).map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_item.done', output_index: 1, item: { ...item, status: 'completed', content } },
  ];
}

function called(turn: number, { name, args }: { name: string; args: object }): object[] {
  const item = { id: `fc_${turn}`, type: 'function_call', call_id: `call_${turn}`, name };
  const text = JSON.stringify(args);
  const at = { item_id: item.id, output_index: 1 };
  const begun = { ...item, arguments: '', status: 'in_progress' };
  return [
    { type: 'response.output_item.added', output_index: 1, item: begun },
    ...halves(text).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, arguments: text },
    {
      type: 'response.output_item.done',
      output_index: 1,
      item: { ...item, arguments: text, status: 'completed' },
    },
  ];
}

export const responses = {
  base: '/v1',
  path: '/v1/responses',
  keyHeader: 'authorization',
  answer,
  countsThinking: true,
  ids: ({ input }: JsonObject) => ({
    calls: objects(input).flatMap(({ type, call_id: called, id }) => {
      if (type === 'function_call') return [called];
      // The provider keeps the call that a reference names, with its own id.
      return type === 'item_reference' && String(id).startsWith('fc_') ? [`call_${String(id).slice(3)}`] : [];
    }),
    results: objects(input)
      .filter(({ type }) => type === 'function_call_output')
      .map(({ call_id: id }) => id),
  }),
} as const;
