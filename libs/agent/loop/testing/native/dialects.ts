import { anthropic } from './anthropic.ts';
import { deepseek } from './deepseek.ts';
import type { Dialect } from './dialect.ts';
import { google } from './google.ts';
import { groq } from './groq.ts';
import { mistral } from './mistral.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { openrouter } from './openrouter.ts';
import { xai } from './xai.ts';

/** Every provider of docs/agent.md#what-was-run. */
export const DIALECTS: readonly Dialect[] = [
  anthropic,
  openaiChat,
  openaiResponses,
  google,
  mistral,
  groq,
  xai,
  deepseek,
  openrouter,
];
