import { answering, calledAssistant, chat, DETAILED } from './chat.ts';
import { type Dialect, WAIT_S } from './dialect.ts';

export const openrouter: Dialect = {
  ...chat,
  provider: 'OpenRouter',
  package: '@openrouter/ai-sdk-provider',
  config: { model: 'openrouter/google/gemini-3-pro-preview', api_key_env: 'MODEL_KEY' },
  base: '/api/v1',
  path: '/api/v1/chat/completions',
  answer: answering({
    think: (text, { turn }) => ({
      reasoning: text,
      reasoning_details: [
        { type: 'reasoning.text', text, format: 'google-gemini-v1', index: 0, signature: `signed-${turn}` },
      ],
    }),
    usage: { ...DETAILED, cost: 0.0125, cost_details: { upstream_inference_cost: null } },
  }),
  refusal: {
    headers: { 'retry-after': String(WAIT_S) },
    body: { error: { code: 429, message: 'Provider returned error', metadata: { provider_name: 'Google' } } },
  },
  saysWait: true,
  returned: (body) => calledAssistant(body)?.reasoning_details,
  thought: [
    {
      type: 'reasoning.text',
      text: 'I think 1.',
      format: 'google-gemini-v1',
      index: 0,
      signature: 'signed-1',
    },
  ],
};
