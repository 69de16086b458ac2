/** The window that is assumed when neither config.yaml, the provider nor the table below names one, in tokens. */
export const ASSUMED_WINDOW = 32_768;

/**
 * Windows of hosted model families whose providers do not state them in their list of models, by the start of the name
 * without the vendor. Open models are not listed: the server that runs one decides on its window. Sources:
 * https://docs.claude.com/en/docs/about-claude/models/overview, https://platform.openai.com/docs/models,
 * https://ai.google.dev/gemini-api/docs/models
 */
const FAMILIES: readonly (readonly [start: string, tokens: number])[] = [
  ['claude-', 200_000],
  ['gpt-5', 400_000],
  ['gpt-4.1', 1_047_576],
  ['gpt-4o', 128_000],
  ['gpt-4-turbo', 128_000],
  ['gpt-4', 8_192],
  ['gpt-3.5-turbo', 16_385],
  ['o1', 200_000],
  ['o3', 200_000],
  ['o4-mini', 200_000],
  ['gemini-', 1_048_576],
];

/** The window of a well-known hosted model, in tokens. `name` may begin with a vendor: `openai/gpt-4.1`. */
export function knownWindow(name: string): number | undefined {
  const bare = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  return FAMILIES.find(([start]) => isOfFamily(bare, start))?.[1];
}

/** `o1` is the family of `o1` and `o1-mini`, and not of `o100`. */
const isOfFamily = (name: string, start: string): boolean =>
  name.startsWith(start) && (start.endsWith('-') || !/^[a-z0-9]/.test(name.slice(start.length)));
