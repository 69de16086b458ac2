import type { Readable, Writable } from 'node:stream';
import { confirm, isCancel, password, select, text } from '@clack/prompts';
import { FleetError } from '@hermes-fleet/protocol';
import { checkedModel, OFFLINE, usualKeyOf } from '../command-line/model-options.ts';
import { httpUrl, UsageError } from '../command-line/option-values.ts';
import { VARIABLE } from '../folder/members.ts';
import { newMembers } from '../folder/new-folder.ts';
import type { ModelChoice } from '../folder/profile-files.ts';
import { type NamedRepository, repositoryFrom } from './find-repository.ts';

/** What a new fleet is made of. */
export interface Answers {
  /** The options that the user gave; they are not asked for. */
  readonly given: ReadonlySet<string>;
  readonly model: ModelChoice;
  readonly key: string | undefined;
  readonly repository: NamedRepository | undefined;
  readonly profiles: readonly string[];
  readonly hasTrader: boolean;
}

interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

const MODELS = [
  { value: OFFLINE, label: 'offline/runbook', hint: 'calls nothing and costs nothing: to try the fleet' },
  { value: 'anthropic', label: 'Anthropic' },
  { value: 'openai', label: 'OpenAI' },
  { value: 'openrouter', label: 'OpenRouter' },
  { value: 'openai-compatible', label: 'another API like that of OpenAI', hint: 'also a server of your own' },
];

/**
 * Asks on a terminal for what the options have not said, and again for what cannot be. The key is read without echo. Throws CANCELED when the
 * user leaves.
 */
export async function askForFleet(answers: Answers, at: Terminal, env: NodeJS.ProcessEnv): Promise<Answers> {
  const { given } = answers;
  const model = given.has('model') ? answers.model : await askForModel(at);
  const key = answers.key ?? (model.model === OFFLINE ? undefined : await askForKey(model, at, env));
  const repository = given.has('repository') ? answers.repository : await askForRepository(at, env);
  const profiles = given.has('profiles') ? answers.profiles : await askForProfiles(answers.profiles, at);
  const hasTrader =
    given.has('trader') ||
    (await ask(confirm({ message: 'With the paper trader?', initialValue: false, ...at })));
  return { given, model, key, repository, profiles, hasTrader };
}

async function askForModel(at: Terminal): Promise<ModelChoice> {
  const provider = await ask(select({ message: 'Model', options: MODELS, initialValue: OFFLINE, ...at }));
  if (provider === OFFLINE) return { model: OFFLINE };
  const name = await ask(text({ message: 'Name of the model', validate: isWord, ...at }));
  if (provider !== 'openai-compatible') return checkedModel({ model: `${provider}/${name}` });
  const message = 'Address of its API, such as http://127.0.0.1:8000/v1';
  const validate = problemIn((url) => httpUrl('it', url));
  const baseUrl = await ask(text({ message, validate, ...at }));
  return checkedModel({ model: `${provider}/${name}`, baseUrl });
}

async function askForKey(
  model: ModelChoice,
  at: Terminal,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const variable = usualKeyOf(model.model);
  const present = env[variable];
  if (present && (await ask(confirm({ message: `Take the key from ${variable}?`, ...at })))) return present;
  const message = `Key of the model, stored in .env.local as ${variable}; empty for none`;
  return (await ask(password({ message, ...at }))) || undefined;
}

async function askForRepository(at: Terminal, env: NodeJS.ProcessEnv): Promise<NamedRepository | undefined> {
  const message =
    'A repository that tasks may name: its https address or the path of your clone; empty for none';
  const repository = problemIn((source) => repositoryFrom({ source }, env));
  const validate = (value: string | undefined) => (value ? repository(value) : undefined);
  const source = await ask(text({ message, defaultValue: '', validate, ...at }));
  if (!source) return undefined;
  const base = await ask(
    text({ message: 'Its branch; empty for its default, or main', defaultValue: '', ...at }),
  );
  const variable = 'Variable with its token, such as REPOSITORY_TOKEN; empty for a public one';
  const isVariable = (name = '') =>
    name === '' || VARIABLE.test(name) ? undefined : 'write the name of a variable, not the token';
  const tokenEnv = await ask(text({ message: variable, defaultValue: '', validate: isVariable, ...at }));
  return { source, base: base || undefined, tokenEnv: tokenEnv || undefined };
}

async function askForProfiles(usual: readonly string[], at: Terminal): Promise<readonly string[]> {
  const validate = problemIn((names) =>
    newMembers('.', { profiles: listOf(names), hasTrader: true, variables: [] }),
  );
  const message = 'Profiles, with switch';
  return listOf(await ask(text({ message, initialValue: usual.join(','), validate, ...at })));
}

/** The names of a list with commas. */
export const listOf = (names: string): readonly string[] => names.split(',').map((name) => name.trim());

const isWord = (value = ''): string | undefined =>
  /^\S+$/.test(value) ? undefined : 'write one, without spaces';

/** Holds an answer against the check of its option: why it cannot be, or undefined. */
const problemIn =
  (check: (value: string) => unknown) =>
  (value = ''): string | undefined => {
    try {
      check(value);
      return undefined;
    } catch (error) {
      if (error instanceof UsageError || error instanceof FleetError) return error.message;
      throw error;
    }
  };

type Cancel = Extract<Awaited<ReturnType<typeof text>>, symbol>;

async function ask<T extends string | boolean>(prompt: Promise<T | Cancel>): Promise<T> {
  const answer: T | Cancel = await prompt;
  if (isCancel(answer)) throw new FleetError('CANCELED', 'nothing was written');
  return answer;
}
