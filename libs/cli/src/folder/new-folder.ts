import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Asset, asset } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE, ORCHESTRATOR, TRADER } from '../keys/layout.ts';
import { readProfile } from './change-members.ts';
import { folderAt, MEMBERS_FILE } from './fleet-folder.ts';
import { followingFiles } from './following-files.ts';
import {
  type Member,
  type Members,
  problemOfName,
  problemOfPort,
  readMembers,
  servicesOf,
} from './members.ts';
import { type ModelChoice, profileLike, withModel } from './profile-files.ts';
import type { WrittenFile } from './write-files.ts';
import { removeEntry, scalar } from './yaml-text.ts';

/** A repository that tasks may name (docs/configuration.md#repositories). */
export interface RepositoryChoice {
  readonly name: string;
  readonly url: string;
  readonly base: string;
  readonly tokenEnv?: string | undefined;
}

export interface FolderChoices {
  readonly profiles: readonly string[];
  readonly hasTrader: boolean;
  readonly model: ModelChoice;
  readonly repository?: RepositoryChoice | undefined;
  /** Variables that the profiles get in containers beside the usual ones. */
  readonly variables: readonly string[];
  /** The lines of .env.local. */
  readonly environment: readonly string[];
}

/** The shipped members, whose files a new folder begins with. */
const shippedMembers = (): Members => readMembers(dirname(asset('fleet-folder/members.yaml')));
/** The shipped worker that a profile of another name is like. */
const PATTERN = 'morpheus';

/** The files and folders of a new fleet folder, which must not be there before. */
const TOP = [
  ...[MEMBERS_FILE, 'compose.yaml', 'profiles', TRADER, CONSOLE, 'prometheus', 'grafana', 'packages'],
  ...['first-flight.json', 'README.md', '.gitignore', '.env.local', '.fleet'],
];

/** The parts of a fleet folder that a folder has already. */
export const inTheWay = (root: string): readonly string[] =>
  TOP.filter((name) => existsSync(join(root, name)));

/** The list of members for these names. Throws CONFIG_INVALID for one that cannot be. */
export function newMembers(
  root: string,
  { profiles, hasTrader, variables }: Omit<FolderChoices, 'model' | 'environment'>,
): Members {
  const slug = basename(root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  const shipped = shippedMembers();
  const start: Members = {
    // Folders of one name would share their containers and volumes.
    name: `${slug || 'fleet'}-${randomBytes(2).toString('hex')}`,
    profiles: [],
    trader: hasTrader ? shipped.trader : undefined,
    console: shipped.console,
    variables,
  };
  const list = `--profiles ${profiles.join(',')}`;
  if (!profiles.includes(ORCHESTRATOR)) throw invalid(list, `has no ${ORCHESTRATOR}, which takes the tasks`);
  if (profiles.includes('')) throw invalid(list, 'has an empty name');
  const twice = profiles.find((name, at) => profiles.indexOf(name) !== at);
  if (twice !== undefined) throw invalid(list, `names ${twice} twice`);
  const names = [ORCHESTRATOR, ...profiles.filter((name) => name !== ORCHESTRATOR)];
  const listed: Member[] = [];
  for (const name of names) {
    const problem = problemOfName(
      name,
      listed.map((each) => each.name),
    );
    if (problem !== undefined) throw invalid(`--profiles: ${name}`, problem);
    let port = shipped.profiles.find((each) => each.name === name)?.port ?? shipped.console.port + 1;
    while (problemOfPort(port, { ...start, profiles: listed }) !== undefined) port += 1;
    listed.push({ name, port });
  }
  return { ...start, profiles: listed };
}

const invalid = (path: string, reason: string): FleetError =>
  new FleetError('CONFIG_INVALID', `${path} ${reason}`, { fields: [{ path, reason }] });

/** The files of a new fleet folder, the list of members last. */
export function newFolderFiles(
  root: string,
  members: Members,
  choices: FolderChoices,
): readonly WrittenFile[] {
  const { model, repository, environment } = choices;
  const texts = new Map<string, string>();
  const shippedNames = shippedMembers().profiles.map(({ name }) => name);
  const shipped = (name: Asset, to: string): void => {
    for (const [path, text] of textsIn(asset(name))) texts.set(join(root, to, path), text);
  };
  for (const { name, port } of members.profiles) {
    const isShipped = shippedNames.includes(name);
    const source = readProfile(join(asset('fleet-folder/profiles'), isShipped ? name : PATTERN));
    const own = isShipped ? source : profileLike(PATTERN, source, { member: { name, port } }, members);
    const path = join(root, 'profiles', name);
    const config = withModel({ path: join(path, 'config.yaml'), text: own['config.yaml'] }, model);
    texts.set(join(path, 'fleet.yaml'), own['fleet.yaml']);
    texts.set(
      config.path,
      members.trader ? config.text : removeEntry(config, ['mcp', 'servers'], TRADER).text,
    );
    texts.set(join(path, 'IDENTITY.md'), own['IDENTITY.md']);
  }
  texts.set(join(root, 'profiles/repositories.yaml'), repositoriesYaml(repository));
  if (members.trader) shipped('fleet-folder/trader', TRADER);
  shipped('fleet-folder/console', CONSOLE);
  shipped('fleet-folder/prometheus.yml', 'prometheus/prometheus.yml');
  shipped('prometheus-rules', 'prometheus/rules');
  shipped('fleet-folder/grafana/dashboards', 'grafana/dashboards');
  shipped('fleet-folder/grafana/provisioning', 'grafana/provisioning');
  shipped('first-flight.json', 'first-flight.json');
  const services = servicesOf(members);
  const removed = [...shippedNames, TRADER].filter((name) => !services.includes(name));
  const read = (path: string): string => texts.get(path) ?? readFileSync(path, 'utf8');
  const folder = { ...folderAt(root), home: root };
  for (const { path, text } of followingFiles(folder, members, { removed, read })) texts.set(path, text);
  texts.set(join(root, '.gitignore'), '.fleet/\n.env.local\npackages/node_modules/\n');
  // Containers see this folder, so it must be there.
  texts.set(join(root, 'packages/.gitignore'), '*\n!.gitignore\n');
  texts.set(join(root, 'README.md'), readme(members));
  return [
    ...[...texts].map(([path, text]) => ({ path, text })),
    { path: join(root, '.env.local'), text: environment.map((line) => `${line}\n`).join(''), mode: 0o600 },
    { path: join(root, MEMBERS_FILE), text: membersYaml(members) },
  ];
}

/** The texts of a file, by an empty path, or of all files below a folder. */
function textsIn(path: string): readonly (readonly [string, string])[] {
  if (statSync(path).isFile()) return [['', readFileSync(path, 'utf8')]];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.\w+$|\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => [file.slice(path.length + 1), readFileSync(file, 'utf8')]);
}

const membersYaml = ({ name, profiles, trader, console, variables }: Members): string =>
  [
    '# The members of this fleet. Other files follow from the list: change it with fleet profile add and fleet profile remove.',
    `name: ${scalar(name)}`,
    'profiles:',
    ...profiles.map((each) => `  ${each.name}: { port: ${each.port} }`),
    ...(trader ? [`trader: { port: ${trader.port} }`] : []),
    `console: { port: ${console.port} }`,
    ...(variables.length > 0 ? [`variables: [${variables.join(', ')}]`] : []),
    '',
  ].join('\n');

function repositoriesYaml(repository: RepositoryChoice | undefined): string {
  const head = '# The repositories that tasks of all profiles may name.';
  if (repository === undefined) return `${head} There are none yet.\nrepositories: {}\n`;
  const { name, url, base, tokenEnv } = repository;
  const lines = [
    `  ${name}:`,
    `    url: ${JSON.stringify(url)}`,
    `    base: ${scalar(base)}`,
    ...(tokenEnv === undefined ? [] : [`    token_env: ${tokenEnv}`]),
  ];
  return `${[head, 'repositories:', ...lines].join('\n')}\n`;
}

const readme = ({ profiles, trader, console }: Members): string => `# A Hermes fleet

${[...profiles, ...(trader ? [trader] : []), console].map(({ name, port }) => `- ${name}, port ${port}`).join('\n')}

\`\`\`\`sh
fleet up        # start it; fleet down stops it
fleet ps        # its members
fleet send 'Write a haiku.

\`\`\`haiku.txt
A budget in hand,
they ask before they begin.
No token is lost.
\`\`\`
'               # with a model, in prose
fleet console   # the fleet in a browser
fleet doctor    # what is wrong with switch; --profile names another one
fleet profile add coder --tier sonnet
fleet backup fleet.tar.zst
\`\`\`\`

\`members.yaml\` lists the members. \`profiles/\` has their configuration: model, tools and peers. \`compose.yaml\` is for containers;
changes of yours belong into \`compose.override.yaml\`. \`.env.local\` has keys and settings, and \`.fleet/\` everything that the fleet
writes: git takes neither.
`;
