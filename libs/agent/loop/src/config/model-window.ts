import type { Log } from '@hermes-fleet/protocol/ports';
import type { AgentConfig } from './config-yaml.ts';
import { parseModelName } from './model-name.ts';

export interface StatedWindow {
  readonly tokens: number;
  /** The field that it was in, for logs. */
  readonly field: string;
  /** The model can have so much at most; what the server gives it is known once it has loaded it. */
  readonly isUpperBound: boolean;
}

/** The context window of one model, which may become known or change while the profile runs (docs/agent.md#context-window). */
export type ModelWindow = ReturnType<typeof createModelWindow>;

interface SourcedWindow {
  readonly tokens: number;
  readonly source: string;
}

const OFFLINE = { tokens: 128_000, source: 'offline/runbook' };
const NOT_ASKED = 'assumed: the provider of provider.package cannot be asked';
const LONG_CONTEXT = { tokens: 1_000_000, source: 'the suffix [1m] of the model' };

/** The window that nobody needs to be asked for: config.yaml decides. */
function fixedWindow({ model, context_window: tokens, provider }: WindowConfig): SourcedWindow | undefined {
  if (tokens !== undefined) return { tokens, source: 'context_window in config.yaml' };
  const named = parseModelName(model, provider !== undefined);
  if (named?.provider === 'offline') return OFFLINE;
  return named?.provider === 'anthropic' && named.longContext ? LONG_CONTEXT : undefined;
}

const ASSUMED = 'the context window of the model is assumed: set context_window in config.yaml';

type WindowConfig = Pick<AgentConfig, 'model' | 'context_window' | 'provider'>;

/** The window of a configured model, before its provider was asked. Warns where nobody can be asked. */
export function createModelWindow(config: WindowConfig, log: Log) {
  const { model } = config;
  const fixed = fixedWindow(config);
  const family = knownWindow(model);
  const known = family === undefined ? undefined : { tokens: family, source: 'a well-known model' };
  // The API of another package is not known.
  const canBeAsked = fixed === undefined && config.provider === undefined;
  let current = fixed ?? known ?? { tokens: ASSUMED_WINDOW, source: canBeAsked ? 'assumed' : NOT_ASKED };
  let isAnswered = false;
  let isOpen = canBeAsked;
  let told = '';

  function tell(level: 'info' | 'warn', message: string): void {
    const fields = { model, context_window: current.tokens, source: current.source };
    const line = JSON.stringify([fields, message]);
    if (line !== told) log[level](fields, message);
    told = line;
  }

  function adopt(stated: StatedWindow | undefined): void {
    const exact =
      stated === undefined || stated.isUpperBound
        ? known
        : { tokens: stated.tokens, source: `the provider states ${stated.field}` };
    if (exact !== undefined) {
      current = exact;
      tell('info', 'the context window of the model is known');
      return;
    }
    const bound =
      stated === undefined
        ? 'the provider states none'
        : `the provider states only what the model can have at most, ${stated.field} ${stated.tokens}`;
    current = {
      tokens: Math.min(ASSUMED_WINDOW, stated?.tokens ?? ASSUMED_WINDOW),
      source: `assumed: ${bound}`,
    };
    tell('warn', ASSUMED);
  }

  if (current.source === NOT_ASKED) tell('warn', ASSUMED);

  return {
    tokens: (): number => current.tokens,
    /** Says where the number comes from, for people. */
    source: (): string => current.source,
    /** True when the provider should be asked: it can be, config.yaml sets no window, and it has not stated one for good. */
    isOpen: (): boolean => isOpen,
    /** True until the provider has answered for the first time, if only it can know: the number is an assumption until then. */
    isPending: (): boolean => !isAnswered && canBeAsked && known === undefined,
    /** Records the provider's answer, undefined if it states no window. Returns true when `tokens` has changed. */
    learn(stated: StatedWindow | undefined): boolean {
      if (!canBeAsked) return false;
      const before = current.tokens;
      isAnswered = true;
      isOpen = stated?.isUpperBound === true;
      adopt(stated);
      return current.tokens !== before;
    },
    /** The provider was away and may have changed: it should be asked again. */
    reopen(): void {
      isOpen = canBeAsked;
    },
  };
}

/** The window that is assumed when neither config.yaml, the provider nor the table below names one, in tokens. */
const ASSUMED_WINDOW = 32_768;

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
function knownWindow(name: string): number | undefined {
  const bare = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  return FAMILIES.find(([start]) => isOfFamily(bare, start))?.[1];
}

/** `o1` is the family of `o1` and `o1-mini`, and not of `o100`. */
const isOfFamily = (name: string, start: string): boolean =>
  name.startsWith(start) && (start.endsWith('-') || !/^[a-z0-9]/.test(name.slice(start.length)));
