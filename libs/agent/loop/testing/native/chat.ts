import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { halves, INPUT, OUTPUT, objects, type Step, sse, USAGE } from './dialect.ts';

interface Chat {
  /** The delta of a thinking text. */
  readonly think?: (text: string, step: Step) => object;
  readonly usage?: object;
  /** How the chunk with the finish reason tells the usage; default: a chunk of its own. */
  readonly told?: (usage: object) => object;
  /** A call comes in one piece. */
  readonly isWhole?: boolean;
}

export const PLAIN = { prompt_tokens: INPUT, completion_tokens: OUTPUT, total_tokens: INPUT + OUTPUT };
export const DETAILED = {
  ...PLAIN,
  prompt_tokens_details: { cached_tokens: USAGE.cached },
  completion_tokens_details: { reasoning_tokens: USAGE.thought },
};

/** https://platform.openai.com/docs/api-reference/chat-streaming, with what a provider has of its own. */
export const answering =
  ({ think, usage = DETAILED, told, isWhole = false }: Chat) =>
  (step: Step): string => {
    const chunk = (choices: object[], rest = {}): object => ({
      id: `chatcmpl-${step.turn}`,
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices,
      ...rest,
    });
    const delta = (content: object): object => chunk([{ index: 0, delta: content, finish_reason: null }]);
    const said = halves(step.text ?? '').map((content) => delta({ content }));
    const args = JSON.stringify(step.call?.args ?? {});
    const start = { id: `call0000${step.turn}`, type: 'function' };
    const pieces = isWhole ? [args] : ['', ...halves(args)];
    const called = pieces.map((piece, at) => {
      const name = at === 0 ? { name: step.call?.name } : {};
      const call = { index: 0, ...(at === 0 && start), function: { ...name, arguments: piece } };
      return delta({ tool_calls: [call] });
    });
    const end = step.call === undefined ? 'stop' : 'tool_calls';
    return `${sse([
      delta({ role: 'assistant', content: '' }),
      ...(think === undefined ? [] : halves(step.thinking).map((text) => delta(think(text, step)))),
      ...(step.call === undefined ? said : called),
      chunk([{ index: 0, delta: {}, finish_reason: end }], told?.(usage)),
      ...(told === undefined ? [chunk([], { usage })] : []),
    ])}data: [DONE]\n\n`;
  };

export const calledAssistant = ({ messages }: JsonObject): JsonObject | undefined =>
  objects(messages).find(({ role }) => role === 'assistant');

export const chat = {
  base: '/v1',
  path: '/v1/chat/completions',
  keyHeader: 'authorization',
  countsThinking: true,
  ids: ({ messages }: JsonObject) => ({
    calls: objects(messages).flatMap(({ tool_calls: calls }) => objects(calls).map(({ id }) => id)),
    results: objects(messages)
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id: id }) => id),
  }),
} as const;

export const limited: JsonValue = {
  error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' },
};
export const inPackage = (model: string, name: string) => ({
  model: `${name}/${model}`,
  provider: { package: `@ai-sdk/${name}` },
  api_key_env: 'MODEL_KEY',
});
