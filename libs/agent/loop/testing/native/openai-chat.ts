import { answering, chat, limited } from './chat.ts';
import { type Dialect, WAIT_S } from './dialect.ts';

export const openaiChat: Dialect = {
  ...chat,
  provider: 'OpenAI, chat completions',
  package: '@ai-sdk/openai-compatible',
  config: { model: 'openai/gpt-5.1', api_key_env: 'MODEL_KEY' },
  answer: answering({}),
  refusal: { headers: { 'retry-after-ms': String(WAIT_S * 1000) }, body: limited },
  saysWait: true,
  // It shows no thinking here.
  returned: () => undefined,
  thought: undefined,
};
