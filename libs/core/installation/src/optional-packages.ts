import { join } from 'node:path';

/** The npm packages that a fleet may have besides the program, each with the release that this program is tested with. */
export const TESTED_PACKAGES: Readonly<Record<string, string>> = {
  '@ai-sdk/deepseek': '3.0.56',
  '@ai-sdk/google': '4.0.121',
  '@ai-sdk/groq': '4.0.84',
  '@ai-sdk/mistral': '4.0.87',
  '@ai-sdk/openai': '4.0.118',
  '@ai-sdk/xai': '5.0.12',
  '@anthropic-ai/claude-agent-sdk': '0.3.330',
};

/** Where `fleet add` installs optional packages, and the only place that they are loaded from; `home` is HERMES_HOME. */
export const packagesFolder = (home: string): string => join(home, 'packages');
