import { answering, calledAssistant, chat, inPackage, limited } from './chat.ts';
import { type Dialect, WAIT_S } from './dialect.ts';

export const groq: Dialect = {
  ...chat,
  provider: 'Groq',
  package: '@ai-sdk/groq',
  config: inPackage('openai/gpt-oss-120b', 'groq'),
  answer: answering({
    think: (reasoning) => ({ reasoning }),
    told: (usage) => ({ x_groq: { id: 'req_1', usage } }),
  }),
  refusal: { headers: { 'retry-after': String(WAIT_S) }, body: limited },
  saysWait: true,
  returned: (body) => calledAssistant(body)?.reasoning,
  thought: 'I think 1.',
};
