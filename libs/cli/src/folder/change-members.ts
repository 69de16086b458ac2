import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { asset } from '@hermes-fleet/installation';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { ORCHESTRATOR } from '../keys/layout.ts';
import { type FleetFolder, MEMBERS_FILE } from './fleet-folder.ts';
import { followingFiles } from './following-files.ts';
import { type Members, problemOfName, problemOfPort, readMembers } from './members.ts';
import { type NewProfile, PROFILE_FILES, profileLike } from './profile-files.ts';
import { writeFiles } from './write-files.ts';
import { putEntry, removeEntry, type YamlFile } from './yaml-text.ts';

/** Model keys that the profiles get in containers without being named. */
const USUAL_VARIABLES = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'OPENROUTER_API_KEY',
  'MODEL_API_KEY',
  'REPOSITORY_TOKEN',
];
/** A worker for ordinary tasks, which a fleet of no other worker takes as the pattern of a new one. */
const PATTERN = 'morpheus';

const invalid = (path: string, reason: string): FleetError =>
  new FleetError('CONFIG_INVALID', `${path} ${reason}: nothing was changed`, { fields: [{ path, reason }] });

/** The first port from 9219 on that no member has. */
export function freePort(members: Members, first = 9219): number {
  let port = first;
  while (problemOfPort(port, members) !== undefined) port += 1;
  return port;
}

/**
 * Adds a worker: its folder, made of that of the worker `like`, its line in the list of members, and what follows from it. Changes all
 * files or none, and returns those that changed. Throws CONFIG_INVALID for a name or a port that cannot be, and as `followingFiles`.
 */
export function addProfile(folder: FleetFolder, profile: NewProfile, like?: string): readonly string[] {
  const { home } = folder;
  const { name, port } = profile.member;
  const before = readMembers(home);
  const names = before.profiles.map((each) => each.name);
  const problem = problemOfName(name, names);
  if (problem !== undefined) throw invalid(name, problem);
  const taken = problemOfPort(port, before);
  if (taken !== undefined) throw invalid(name, taken);
  const dir = join(home, 'profiles', name);
  if (existsSync(dir)) throw invalid(dir, 'is there already, and no member: rename or remove it');
  if (like !== undefined && (like === ORCHESTRATOR || !names.includes(like)))
    throw invalid(
      like,
      `is no worker of this fleet, only ${names.filter((each) => each !== ORCHESTRATOR).join(', ')}`,
    );

  const variable = profile.model?.keyEnv;
  const isNew = variable !== undefined && ![...USUAL_VARIABLES, ...before.variables].includes(variable);
  const members = {
    ...before,
    profiles: [...before.profiles, profile.member],
    variables: [...before.variables, ...(isNew ? [variable] : [])],
  };
  const pattern = like ?? names.find((each) => each !== ORCHESTRATOR);
  const texts = profileLike(
    pattern ?? PATTERN,
    readProfile(
      pattern === undefined ? join(asset('fleet-folder/profiles'), PATTERN) : join(home, 'profiles', pattern),
    ),
    profile,
    members,
  );
  const own = PROFILE_FILES.map((file) => ({ path: join(dir, file), text: texts[file] }));
  const read = (path: string): string =>
    own.find((file) => file.path === path)?.text ?? readFileSync(path, 'utf8');
  const listed = putEntry(membersFile(home), ['profiles'], name, [`${name}: { port: ${port} }`]);
  const list = isNew
    ? putEntry(listed, [], 'variables', [`variables: [${members.variables.join(', ')}]`])
    : listed;
  const others = followingFiles(folder, members, { read }).filter(
    ({ path }) => !own.some((file) => file.path === path),
  );
  return writeFiles([...own, ...others, list]);
}

/**
 * Takes a worker off the list of members, with what follows from it, and moves its folder of configuration into `removed` of the fleet's
 * own folder. Its state, its workspaces and its keys stay where they are. Throws CONFIG_INVALID for the orchestrator, and as `followingFiles`.
 */
export function removeProfile(
  folder: FleetFolder,
  name: string,
): { readonly changed: readonly string[]; readonly moved: string } {
  const { home, dir } = folder;
  const before = readMembers(home);
  if (name === ORCHESTRATOR) throw invalid(name, 'takes the tasks, so every fleet has it');
  if (!before.profiles.some((each) => each.name === name))
    throw invalid(
      name,
      `is no profile of this fleet, only ${before.profiles.map((each) => each.name).join(', ')}`,
    );
  const members = { ...before, profiles: before.profiles.filter((each) => each.name !== name) };
  const list = removeEntry(membersFile(home), ['profiles'], name);
  const files = [...followingFiles(folder, members, { removed: [name] }), list];
  const own = join(home, 'profiles', name);
  // A copy, because the folders may be on two file systems. It is whole before anything changes.
  const moved = copyAway(own, join(dir, 'removed'), name);
  let changed: readonly string[];
  try {
    changed = writeFiles(files);
  } catch (error) {
    rmSync(moved, { recursive: true });
    throw error;
  }
  rmSync(own, { recursive: true });
  return { changed, moved };
}

/**
 * Copies a folder into `place`, with the first number after those of earlier ones, some of which the user may have taken away. Throws
 * CONFIG_INVALID, and leaves nothing, where that cannot be.
 */
function copyAway(from: string, place: string, name: string): string {
  const partial = join(place, `.${name}.new`);
  try {
    mkdirSync(place, { recursive: true, mode: 0o700 });
    const numbers = readdirSync(place).map((each) => Number(/-(\d+)$/.exec(each)?.[1] ?? 0));
    const to = join(place, `${name}-${Math.max(0, ...numbers) + 1}`);
    rmSync(partial, { recursive: true, force: true });
    cpSync(from, partial, { recursive: true });
    renameSync(partial, to);
    return to;
  } catch (cause) {
    if (existsSync(partial)) rmSync(partial, { recursive: true });
    const reason = `cannot be moved to ${place} (${systemCode(cause) ?? cause})`;
    throw new FleetError('CONFIG_INVALID', `${from} ${reason}: nothing was changed`, {
      cause,
      fields: [{ path: from, reason }],
    });
  }
}

export const readProfile = (dir: string) => ({
  'fleet.yaml': readFileSync(join(dir, 'fleet.yaml'), 'utf8'),
  'config.yaml': readFileSync(join(dir, 'config.yaml'), 'utf8'),
  'IDENTITY.md': readFileSync(join(dir, 'IDENTITY.md'), 'utf8'),
});

function membersFile(home: string): YamlFile {
  const path = join(home, MEMBERS_FILE);
  return { path, text: readFileSync(path, 'utf8') };
}
