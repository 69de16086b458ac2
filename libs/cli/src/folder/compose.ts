import { readFileSync } from 'node:fs';
import { asset, version } from '@hermes-fleet/installation';
import { ORCHESTRATOR, upper } from '../keys/layout.ts';
import { type Member, type Members, servicesOf, workingMembers } from './members.ts';

/** The image of a fleet folder, where FLEET_IMAGE names no other. */
export const FOLDER_IMAGE = `hermes-fleet:${version()}`;

/** A file for Compose: its name, and what differs between a checkout, which builds the image, and a fleet folder, which has it. */
const PLACES = {
  checkout: {
    file: 'docker-compose.yml',
    home: './deploy',
    image: 'hermes-fleet:local',
    pull: 'never',
    up: 'make up',
  },
  folder: { file: 'compose.yaml', home: '.', image: FOLDER_IMAGE, pull: 'missing', up: 'fleet up' },
} as const;
export type Place = keyof typeof PLACES;

/** The file for Compose in this place. */
export const composeFile = (place: Place): string => PLACES[place].file;

/** The text of the file for Compose of these members. */
export function renderCompose(members: Members, place: Place): string {
  const { home, image, pull, up } = PLACES[place];
  const { name, profiles, trader, console, variables } = members;
  const list = (all: readonly Member[]) =>
    all.map((each) => ({ name: each.name, NAME: upper(each.name), port: String(each.port) }));
  return fill(readFileSync(asset('compose.template.yaml'), 'utf8'), {
    values: { project: name, home, image, pull, up, services: servicesOf(members).join(',') },
    lists: {
      profiles: list(profiles),
      orchestrators: list(profiles.filter((each) => each.name === ORCHESTRATOR)),
      services: list(workingMembers(members)),
      traders: list(trader ? [trader] : []),
      consoles: list([console]),
      members: list([...workingMembers(members), console]),
      variables: variables.map((variable) => ({ name: variable })),
      checkout: place === 'checkout' ? [{}] : [],
    },
  });
}

type Values = Readonly<Record<string, string>>;

/**
 * Fills a template: `{{name}}` is a value, and the lines between `#each list` and `#end` are there once for each entry of the list,
 * with its values.
 */
function fill(
  template: string,
  { values, lists }: { readonly values: Values; readonly lists: Readonly<Record<string, readonly Values[]>> },
): string {
  const put = (text: string, own: Values): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => given(own[name] ?? values[name], name));
  const repeated = template.replaceAll(/^#each (\w+)\n(.*?)^#end\n/gms, (_, name: string, block: string) =>
    given(lists[name], name)
      .map((own) => put(block, own))
      .join(''),
  );
  return put(repeated, {});
}

function given<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`the template names ${name}, which has no value`);
  return value;
}
