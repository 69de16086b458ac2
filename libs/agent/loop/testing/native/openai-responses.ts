import { type Dialect, objects, WAIT_S } from './dialect.ts';
import { responses } from './responses.ts';

export const openaiResponses: Dialect = {
  ...responses,
  provider: 'OpenAI, Responses',
  package: '@ai-sdk/openai',
  config: { model: 'openai/gpt-5.1', provider: { package: '@ai-sdk/openai' }, api_key_env: 'MODEL_KEY' },
  refusal: {
    headers: { 'retry-after-ms': String(WAIT_S * 1000) },
    body: { error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' } },
  },
  saysWait: true,
  // It keeps its items, and is sent their names.
  returned: ({ input }) => objects(input).find(({ id }) => id === 'rs_1'),
  thought: { type: 'item_reference', id: 'rs_1' },
};
