import { VARIABLE } from '../folder/members.ts';
import type { ModelChoice } from '../folder/profile-files.ts';
import { httpUrl, UsageError } from './option-values.ts';

/** The providers that have a usual variable for their key. */
const USUAL_KEYS: Readonly<Record<string, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  openrouter: 'OPENROUTER_API_KEY',
};
const OTHER_KEY = 'MODEL_API_KEY';
export const OFFLINE = 'offline/runbook';

const providerOf = (model: string): string =>
  model.startsWith('claude-') ? 'anthropic' : (model.split('/')[0] ?? '');

/** The variable in which a profile finds the key of a model. */
export const usualKeyOf = (model: string): string => USUAL_KEYS[providerOf(model)] ?? OTHER_KEY;

/** A model that can be configured as its options say. The profile checks the rest. Throws UsageError. */
export function checkedModel(choice: ModelChoice): ModelChoice {
  const { model, baseUrl, keyEnv } = choice;
  if (!/^[\w.-]+\/\S+$|^claude-\S+$/.test(model))
    throw new UsageError(
      `--model must be provider/name, such as anthropic/claude-sonnet-4-5, not "${model}"`,
    );
  if (baseUrl !== undefined) httpUrl('--base-url', baseUrl);
  if (providerOf(model) === 'openai-compatible' && baseUrl === undefined)
    throw new UsageError(
      `${model} needs --base-url, the address of its API, such as http://127.0.0.1:8000/v1`,
    );
  if (model === OFFLINE && (baseUrl !== undefined || keyEnv !== undefined))
    throw new UsageError(`${OFFLINE} calls nothing: leave out --base-url and --key-env`);
  if (keyEnv !== undefined && !VARIABLE.test(keyEnv))
    throw new UsageError(`--key-env must be the name of a variable, not "${keyEnv}"`);
  return choice;
}
