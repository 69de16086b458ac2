import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { version } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { command, type Invocation } from '../command-line/command.ts';
import { checkedModel, OFFLINE, usualKeyOf } from '../command-line/model-options.ts';
import { quote, UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { initUsage } from '../command-specs/folder.ts';
import { folderAt } from '../folder/fleet-folder.ts';
import { servicesOf, VARIABLE } from '../folder/members.ts';
import { type FolderChoices, inTheWay, newFolderFiles, newMembers } from '../folder/new-folder.ts';
import { writeFiles } from '../folder/write-files.ts';
import { type Answers, askForFleet, listOf } from '../init/ask-for-fleet.ts';
import { repositoryFrom } from '../init/find-repository.ts';
import { testModel } from '../init/test-model.ts';
import { planFleet } from '../local/plan.ts';
import { makeProcessKeys } from '../local/process-keys.ts';

type InitInvocation = Invocation<typeof initUsage.options>;

const DEFAULT_PROFILES = 'switch,neo,morpheus,trinity';

/**
 * `fleet init`: writes a fleet folder (docs/install.md#a-fleet-folder), and tests its model with one call. On a terminal it asks for what
 * the options do not say. Exit code 1 when the model does not answer; the folder stays.
 */
const initCommand = command(initUsage, async (invocation) => {
  const { positionals, values, env, stdin, stdout, stderr } = invocation;
  if (positionals.length > 1) throw new UsageError('init takes the name of one folder');
  const root = resolve(positionals[0] ?? '.');
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new FleetError('CONFIG_INVALID', `${root} is no folder, and nothing was changed: name another one`);
  const found = inTheWay(root);
  if (found.length > 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `${root} has ${found.join(', ')} already, and nothing was changed: name another folder, or remove them`,
    );
  const isAsked = !values.yes && stdin().isTTY === true && stderr.isTTY === true;
  const answers = isAsked
    ? await askForFleet(fromOptions(invocation), { input: stdin(), output: stderr }, env)
    : fromOptions(invocation);
  const { choices, key } = choicesOf(answers, values.image, env);
  const members = newMembers(root, choices);
  const files = writeFiles(newFolderFiles(root, members, choices));
  const folder = folderAt(root);
  mkdirSync(folder.dir, { mode: 0o711 });
  chmodSync(folder.dir, 0o711);
  makeProcessKeys(planFleet({ root }), true);
  const needsContainers = inContainers(process.platform);
  const token = choices.repository?.tokenEnv;
  const isUnset = token !== undefined && !env[token];
  printLines(stdout, [
    `${root} has a fleet of Hermes Fleet ${version()}: ${servicesOf(members).join(', ')} (${files.length} files)`,
    ...(needsContainers ? [CONTAINERS] : []),
    ...(isUnset ? [`write the token of the repository into ${join(root, '.env.local')}, as ${token}`] : []),
  ]);
  const tested = await testModel(root, choices.model, { ...env, ...key });
  printLines(tested.isOk ? stdout : stderr, tested.lines);
  const cd = relative(process.cwd(), root);
  printLines(stdout, ['', `Next: ${cd === '' ? '' : `cd ${quote(cd)} && `}fleet up`]);
  return tested.isOk ? 0 : 1;
});

export const commands = [initCommand];

const CONTAINERS =
  'it runs in containers (FLEET_MODE=docker in .env.local), because commands of tasks are confined by features of Linux';
const inContainers = (platform: NodeJS.Platform): boolean => platform !== 'linux';

/** The answers that the options give, with the defaults. Throws UsageError. */
function fromOptions({ values, env }: Pick<InitInvocation, 'values' | 'env'>): Answers {
  const { model = OFFLINE, 'base-url': baseUrl, 'key-env': keyEnv } = values;
  const key = keyEnv === undefined ? undefined : env[keyEnv];
  if (keyEnv !== undefined && !key) throw new UsageError(`--key-env: the variable ${keyEnv} is not set`);
  const { base, repository, 'repository-token-env': tokenEnv } = values;
  if (repository === undefined && (base !== undefined || tokenEnv !== undefined))
    throw new UsageError('--base and --repository-token-env need --repository');
  if (tokenEnv !== undefined && !VARIABLE.test(tokenEnv))
    throw new UsageError(`--repository-token-env must be the name of a variable, not "${tokenEnv}"`);
  return {
    given: new Set(Object.keys(values)),
    model: checkedModel({ model, baseUrl }),
    key,
    repository: repository === undefined ? undefined : { source: repository, base, tokenEnv },
    profiles: listOf(values.profiles ?? DEFAULT_PROFILES),
    hasTrader: values.trader === true,
  };
}

/** The choices for the new folder, and the key as the environment of a profile has it. */
function choicesOf(
  { model, key, repository, profiles, hasTrader }: Answers,
  image: string | undefined,
  env: NodeJS.ProcessEnv,
): { readonly choices: FolderChoices; readonly key: NodeJS.ProcessEnv } {
  const keyName = usualKeyOf(model.model);
  // The provider's own variable needs no line in config.yaml.
  const isNamed = key !== undefined && keyName === 'MODEL_API_KEY';
  const token = repository?.tokenEnv;
  const environment = [
    '# Keys and settings of this fleet: NAME=value lines. The environment takes precedence.',
    ...(inContainers(process.platform) ? ['FLEET_MODE=docker'] : []),
    ...(image === undefined ? [] : [`FLEET_IMAGE=${image}`]),
    ...(key === undefined ? [] : [`${keyName}=${lineValue(keyName, key)}`]),
    ...(token === undefined ? [] : [env[token] ? `${token}=${lineValue(token, env[token])}` : `#${token}=`]),
  ];
  return {
    choices: {
      profiles,
      hasTrader,
      model: { ...model, keyEnv: isNamed ? keyName : undefined },
      repository: repository && repositoryFrom(repository, env),
      variables: token === undefined || token === 'REPOSITORY_TOKEN' ? [] : [token],
      environment,
    },
    key: key === undefined ? {} : { [keyName]: key },
  };
}

/** A value of .env.local. Throws UsageError, without the value, for one that a line cannot hold. */
function lineValue(name: string, value: string): string {
  if (/^[\x21-\x7e]+$/.test(value) && !/^["']|#/.test(value)) return value;
  throw new UsageError(`${name} has characters that no key has, such as a space`);
}
