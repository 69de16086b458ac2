import { existsSync, lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkout } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';

/** The list of members in the folder with the configuration (docs/install.md#the-members). */
export const MEMBERS_FILE = 'members.yaml';

/** The place of a fleet: a fleet folder, or a checkout of the repository. */
export interface FleetFolder {
  readonly root: string;
  /** The folder with the configuration: `profiles/`, `trader/`, `console/`. HERMES_HOME of the services. */
  readonly home: string;
  /** Everything that the fleet writes: state, keys, logs, pid files. */
  readonly dir: string;
}

/** The configuration in a folder: in `deploy/` of a checkout, else in the folder itself; undefined without a list of members. */
const homeIn = (root: string): string | undefined =>
  [join(root, 'deploy'), root].find((home) => existsSync(join(home, MEMBERS_FILE)));

/** The fleet of a folder that is known to be one. */
export const folderAt = (root: string): FleetFolder => ({
  root: resolve(root),
  home: homeIn(resolve(root)) ?? resolve(root),
  dir: join(resolve(root), '.fleet'),
});

/**
 * Finds the fleet that a command is about: FLEET_FOLDER, else the nearest folder upwards from `cwd` that has a list of members, as
 * git finds its repository, else the checkout that the program runs from. Undefined where there is none. Throws CONFIG_INVALID for a
 * FLEET_FOLDER without one, and for a folder that was found and that neither `owner`, the user of this process, nor root owns.
 */
export function findFolder(
  env: NodeJS.ProcessEnv,
  cwd: string,
  owner = process.geteuid?.(),
): FleetFolder | undefined {
  const named = env.FLEET_FOLDER;
  if (named !== undefined && named !== '') {
    if (homeIn(resolve(cwd, named))) return folderAt(resolve(cwd, named));
    throw new FleetError(
      'CONFIG_INVALID',
      `FLEET_FOLDER=${named} is no fleet folder: it has no ${MEMBERS_FILE}`,
    );
  }
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const home = homeIn(at);
    if (home) {
      // Whoever runs the program of a checkout trusts its files already.
      if (at !== checkout()) checkOwner(at, home, ownersOf(env, owner));
      return folderAt(at);
    }
    if (dirname(at) === at) break;
  }
  const own = checkout();
  return own === undefined ? undefined : folderAt(own);
}

/** The users whose files a process of the user `owner` trusts, as git does. Undefined where users have no numbers. */
function ownersOf({ SUDO_UID = '' }: NodeJS.ProcessEnv, owner: number | undefined): number[] | undefined {
  if (owner === undefined) return undefined;
  return [0, owner, ...(owner === 0 && /^\d+$/.test(SUDO_UID) ? [Number(SUDO_UID)] : [])];
}

/** Another user could make a fleet above the working folder, and name programs for a command to run in its .env.local. */
function checkOwner(root: string, home: string, owners: readonly number[] | undefined): void {
  for (const path of [root, home, join(home, MEMBERS_FILE), join(root, '.env.local')]) {
    const uid = lstatSync(path, { throwIfNoEntry: false })?.uid;
    if (uid === undefined || owners === undefined || owners.includes(uid)) continue;
    throw new FleetError(
      'CONFIG_INVALID',
      `${path} belongs to another user (${uid}), who could run commands as you through it: go to a folder of your own, or trust it with FLEET_FOLDER=${root}`,
    );
  }
}

/** The fleet of this process's working folder, and of its environment or another one. Throws CONFIG_INVALID. */
export function currentFolder(env = process.env): FleetFolder {
  const found = findFolder(env, process.cwd());
  if (found) return found;
  throw new FleetError(
    'CONFIG_INVALID',
    `${process.cwd()} is in no fleet folder: go to one, name it with FLEET_FOLDER, or make one with fleet init`,
  );
}
