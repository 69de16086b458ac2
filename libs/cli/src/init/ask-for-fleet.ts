import type { Readable, Writable } from 'node:stream';
import { confirm, isCancel, password, select, text } from '@clack/prompts';
import { checkedModel, OFFLINE, usualKeyOf } from '../command-line/model-options.ts';
import { UsageError } from '../command-line/option-values.ts';
import type { ModelChoice } from '../folder/profile-files.ts';
import type { NamedRepository } from './find-repository.ts';

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

/** Asks on a terminal for what the options have not said. The key is read without echo. Throws UsageError when the user leaves. */
export async function askForFleet(answers: Answers, at: Terminal, env: NodeJS.ProcessEnv): Promise<Answers> {
  const { given } = answers;
  const model = given.has('model') ? answers.model : await askForModel(at);
  const key = answers.key ?? (model.model === OFFLINE ? undefined : await askForKey(model, at, env));
  const repository = given.has('repository') ? answers.repository : await askForRepository(at);
  const profiles = given.has('profiles')
    ? answers.profiles
    : (await ask(text({ message: 'Profiles, with switch', initialValue: answers.profiles.join(','), ...at })))
        .split(',')
        .map((name) => name.trim());
  const hasTrader =
    given.has('trader') ||
    (await ask(confirm({ message: 'With the paper trader?', initialValue: false, ...at })));
  return { given, model, key, repository, profiles, hasTrader };
}

async function askForModel(at: Terminal): Promise<ModelChoice> {
  const provider = await ask(select({ message: 'Model', options: MODELS, initialValue: OFFLINE, ...at }));
  if (provider === OFFLINE) return { model: OFFLINE };
  const name = await ask(text({ message: 'Name of the model', validate: isGiven, ...at }));
  const needsUrl = provider === 'openai-compatible';
  const message = 'Address of its API, such as http://127.0.0.1:8000/v1';
  const baseUrl = needsUrl ? await ask(text({ message, validate: isGiven, ...at })) : undefined;
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

async function askForRepository(at: Terminal): Promise<NamedRepository | undefined> {
  const message =
    'A repository that tasks may name: its https address or the path of your clone; empty for none';
  const source = await ask(text({ message, defaultValue: '', ...at }));
  if (!source) return undefined;
  const base = await ask(
    text({ message: 'Its branch; empty for its default, or main', defaultValue: '', ...at }),
  );
  const variable = 'Variable with its token, such as REPOSITORY_TOKEN; empty for a public one';
  const tokenEnv = await ask(text({ message: variable, defaultValue: '', ...at }));
  return { source, base: base || undefined, tokenEnv: tokenEnv || undefined };
}

const isGiven = (value: string | undefined): string | undefined => (value?.trim() ? undefined : 'write one');

type Cancel = Extract<Awaited<ReturnType<typeof text>>, symbol>;

async function ask<T extends string | boolean>(prompt: Promise<T | Cancel>): Promise<T> {
  const answer: T | Cancel = await prompt;
  if (isCancel(answer)) throw new UsageError('left: nothing was written');
  return answer;
}
