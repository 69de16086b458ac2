import { answering, calledAssistant, chat, inPackage, PLAIN } from './chat.ts';
import { type Dialect, objects, USAGE } from './dialect.ts';

export const mistral: Dialect = {
  ...chat,
  provider: 'Mistral',
  package: '@ai-sdk/mistral',
  config: inPackage('magistral-medium-latest', 'mistral'),
  answer: answering({
    think: (text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
    usage: { ...PLAIN, prompt_tokens_details: { cached_tokens: USAGE.cached } },
    told: (usage) => ({ usage }),
    isWhole: true,
  }),
  refusal: {
    body: { object: 'error', message: 'Requests rate limit exceeded', type: 'rate_limited', code: '1300' },
  },
  saysWait: false,
  countsThinking: false,
  returned: (body) => objects(calledAssistant(body)?.content)[0]?.thinking,
  thought: [{ type: 'text', text: 'I think 1.' }],
};
