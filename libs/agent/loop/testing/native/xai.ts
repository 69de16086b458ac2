import { type Dialect, objects } from './dialect.ts';
import { responses } from './responses.ts';

export const xai: Dialect = {
  ...responses,
  provider: 'xAI, Responses',
  package: '@ai-sdk/xai',
  config: { model: 'xai/grok-4', provider: { package: '@ai-sdk/xai' }, api_key_env: 'MODEL_KEY' },
  refusal: { body: { code: 'Some resource has been exhausted', error: 'Too many requests' } },
  saysWait: false,
  returned: ({ input }) => objects(input).find(({ type }) => type === 'reasoning')?.encrypted_content,
  thought: 'sealed-1',
};
