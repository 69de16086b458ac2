/** The APIs that transcripts are written for. */
export const DIALECTS = ['chat', 'anthropic', 'google', 'responses'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** The steps of the scenario, as any good model takes them. */
export const TURNS = ['write', 'run', 'fix', 'end'] as const;
export type Turn = (typeof TURNS)[number];

type Step = { readonly say: string } | { readonly tool: string; readonly input: object };

const STEPS: Readonly<Record<Turn, Step>> = {
  write: { tool: 'write_file', input: { path: 'sum.txt', content: '3\n' } },
  run: { tool: 'shell_exec', input: { command: 'grep -qx 4 sum.txt' } },
  fix: { tool: 'write_file', input: { path: 'sum.txt', content: '4\n' } },
  end: { say: 'The sum is right now.' },
};

const [INPUT, OUTPUT] = [7_000, 5];

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: object;
}

/** The stream of an ordinary answer. `count` makes ids of calls that differ from each other. */
export function ordinaryAnswer(
  step: Turn | { readonly say: string },
  dialect: Dialect,
  count: number,
): string {
  const meant = typeof step === 'string' ? STEPS[step] : step;
  if ('say' in meant) return SAYS[dialect](meant.say);
  const id = `call_${String(count).padStart(24, '0')}`;
  return CALLS[dialect]({ id, name: meant.tool, args: meant.input });
}

const SAYS: Readonly<Record<Dialect, (text: string) => string>> = {
  chat: (content) => chat({ content }, 'stop'),
  anthropic: (text) => anthropic({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
  google: (text) => google({ text }),
  responses(text) {
    const part = { type: 'output_text', text, annotations: [] };
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
    const delta = { type: 'response.output_text.delta', item_id: 'msg_1', content_index: 0, delta: text };
    return responses({ ...item, content: [] }, delta, item);
  },
};

const CALLS: Readonly<Record<Dialect, (call: Call) => string>> = {
  chat({ id, name, args }) {
    const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
    return chat({ content: null, tool_calls: [call] }, 'tool_calls');
  },
  anthropic: ({ id, name, args }) =>
    anthropic(
      { type: 'tool_use', id: `toolu_${id}`, name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(args) },
      'tool_use',
    ),
  google: ({ name, args }) => google({ functionCall: { name, args } }),
  responses({ id, name, args }) {
    const item = { id: `fc_${id}`, type: 'function_call', call_id: id, name };
    const text = JSON.stringify(args);
    const delta = { type: 'response.function_call_arguments.delta', item_id: item.id, delta: text };
    return responses({ ...item, arguments: '' }, delta, { ...item, arguments: text, status: 'completed' });
  },
};

/** https://platform.openai.com/docs/api-reference/chat-streaming */
function chat(delta: object, reason: string): string {
  const usage = { prompt_tokens: INPUT, completion_tokens: OUTPUT, total_tokens: INPUT + OUTPUT };
  const frames = [
    { choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { choices: [], usage },
  ].map((rest) => ({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', ...rest }));
  return `${data(frames)}data: [DONE]\n\n`;
}

/** https://docs.anthropic.com/en/docs/build-with-claude/streaming */
function anthropic(block: object, delta: object, reason: string): string {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm' };
  return events([
    { type: 'message_start', message: { ...message, usage: { input_tokens: INPUT, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: OUTPUT },
    },
    { type: 'message_stop' },
  ]);
}

/** https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
function google(part: object): string {
  const counts = { promptTokenCount: INPUT, candidatesTokenCount: OUTPUT, totalTokenCount: INPUT + OUTPUT };
  const candidate = { index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' };
  return data([{ candidates: [candidate], usageMetadata: counts, modelVersion: 'm' }]);
}

/** https://platform.openai.com/docs/api-reference/responses-streaming */
function responses(begun: object, delta: Event, item: object): string {
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [] };
  const usage = { input_tokens: INPUT, output_tokens: OUTPUT, total_tokens: INPUT + OUTPUT };
  return events([
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: begun },
    { ...delta, output_index: 0 },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, usage } },
  ]);
}

interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

const data = (frames: readonly object[]): string =>
  frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('');

const events = (all: readonly Event[]): string =>
  all.map((event) => `event: ${event.type}\n${data([event])}`).join('');
