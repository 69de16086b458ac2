import { upper } from '../keys/layout.ts';
import { addPeers, addressOf, removePeer } from './member-entries.ts';
import { type Member, type Members, servicesOf } from './members.ts';
import { keysOf, removeEntry, scalar, setValue, type YamlFile } from './yaml-text.ts';

/** The files of a profile's folder. */
export const PROFILE_FILES = ['fleet.yaml', 'config.yaml', 'IDENTITY.md'] as const;
export type ProfileTexts = Readonly<Record<(typeof PROFILE_FILES)[number], string>>;

/** A model, as config.yaml names it (docs/configuration.md#configyaml). */
export interface ModelChoice {
  readonly model: string;
  readonly baseUrl?: string | undefined;
  /** The variable with the key, where it is not the usual one of the provider. */
  readonly keyEnv?: string | undefined;
}

/** config.yaml with this model in place of the one that it has. */
export function withModel(file: YamlFile, { model, baseUrl, keyEnv }: ModelChoice): YamlFile {
  const others = ['base_url', 'api_key_env', 'provider', 'context_window', 'fallback_models'];
  const bare = others.reduce(
    (text, key) => removeEntry(text, [], key),
    setValue(file, ['model'], scalar(model)),
  );
  const set = (text: YamlFile, key: string, value: string | undefined): YamlFile =>
    value === undefined ? text : setValue(text, [key], scalar(value));
  return set(set(bare, 'base_url', baseUrl), 'api_key_env', keyEnv);
}

export interface NewProfile {
  readonly member: Member;
  readonly tier?: string | undefined;
  readonly purpose?: string | undefined;
  readonly model?: ModelChoice | undefined;
}

/**
 * The files of a new profile, made of those of the worker `like`, with its own name, addresses, callers and peers. `members` has
 * the new one.
 */
export function profileLike(
  like: string,
  texts: ProfileTexts,
  { member, tier, purpose, model }: NewProfile,
  members: Members,
): ProfileTexts {
  const { name } = member;
  const file = (key: keyof ProfileTexts): YamlFile => ({
    path: `${key} of ${like}`,
    text: renamed(texts[key], like, name),
  });
  const set = (text: YamlFile, path: readonly string[], value: string | undefined): YamlFile =>
    value === undefined ? text : setValue(text, path, value);
  const alone = [...servicesOf(members), like].reduce(removePeer, file('fleet.yaml'));
  const described = set(
    set(alone, ['fleet', 'purpose'], purpose === undefined ? undefined : JSON.stringify(purpose)),
    ['fleet', 'tier'],
    tier,
  );
  const address = setValue(
    setValue(described, ['fleet', 'server', 'bind_port'], `\${${upper(name)}_PORT:-${member.port}}`),
    ['fleet', 'server', 'public_url'],
    addressOf(member),
  );
  const onBus = keysOf(address, ['fleet', 'nats']).includes('inbox_prefix')
    ? setValue(address, ['fleet', 'nats', 'inbox_prefix'], `_INBOX_\${HERMES_NAME:-${name}}`)
    : address;
  const config = file('config.yaml');
  return {
    'fleet.yaml': addPeers(onBus, name, members).text,
    'config.yaml': (model ? withModel(config, model) : config).text,
    'IDENTITY.md': identity(file('IDENTITY.md').text, { tier, purpose }),
  };
}

const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Comments, and all of a text that is no YAML, name the new profile. */
function renamed(text: string, like: string, name: string): string {
  const word = (each: string): RegExp => new RegExp(`(?<!\\w|\\w-)${each}(?!\\w|-\\w)`, 'g');
  const inWords = (line: string): string =>
    line.replaceAll(word(like), name).replaceAll(word(capital(like)), capital(name));
  const isProse = text.startsWith('---');
  return text
    .split('\n')
    .map((line) => (isProse || /^\s*#/.test(line) ? inWords(line) : line))
    .join('\n');
}

function identity(text: string, { tier, purpose }: Pick<NewProfile, 'tier' | 'purpose'>): string {
  const described =
    purpose === undefined
      ? text
      : text.replace(/^description: .*$/m, () => `description: ${JSON.stringify(purpose)}`);
  return tier === undefined
    ? described
    : described.replace(/^(tags: \[hermes-fleet, worker, )[\w-]+/m, `$1${tier}`);
}
