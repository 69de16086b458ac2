import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type TempDirOptions, tempDir } from '@hermes-fleet/protocol/testing';
import { type Confinement, makeSharedDirectory } from '../src/confinement/confinement.ts';

export const SECRET = 'sk-very-secret-0123456789';

export interface Place {
  readonly workspaceRoot: string;
  readonly stateDir: string;
}

/** Makes a workspace, and a state directory with a token and a ledger in it, as a profile has them; Landlock shows all of /tmp. */
export function makePlace(t: TestContext, options: Pick<TempDirOptions, 'parent'> = {}): Place {
  let root = '';
  root = tempDir(t, { ...options, closeFirst: () => emptyContexts(join(root, 'workspace/contexts')) });
  // Every user may enter, as in a profile's directory; only the gateway may enter the state directory.
  chmodSync(root, 0o755);
  const stateDir = join(root, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  writeFileSync(join(stateDir, 'ledger.db'), SECRET, { mode: 0o600 });
  writeFileSync(join(stateDir, 'token'), SECRET, { mode: 0o600 });
  return { workspaceRoot: join(root, 'workspace'), stateDir };
}

/** Removes, as their users, the files of contexts that have users of their own: only root can remove them otherwise. */
function emptyContexts(contexts: string): void {
  if (!mayChangeUsers || process.getuid?.() === 0 || !existsSync(contexts)) return;
  for (const name of readdirSync(contexts)) {
    const context = join(contexts, name);
    const user = String(statSync(context).gid);
    const folders = ['tree', 'tmp', 'home']
      .map((folder) => join(context, folder))
      .filter((path) => existsSync(path));
    const as = ['--reuid', user, '--regid', user, '--clear-groups', '/bin/sh', '-c', EMPTY, 'sh'];
    spawnSync('setpriv', [...as, ...folders]);
  }
}

const EMPTY = 'chmod -R u+rwX -- "$@"; find "$@" -mindepth 1 -delete';

/** Makes a directory that confined commands may write to. Returns its real path. */
export async function commandsFolder(place: Place, confinement: Confinement): Promise<string> {
  const path = join(realpathSync(place.workspaceRoot), 'contexts', 'commands');
  await makeSharedDirectory(path, confinement.otherUser);
  return path;
}

const capabilities = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
const SETUID_AND_SETGID = 0b11000000n;

/** True when this process may start commands as another user: as root, or as a gateway does in a container. */
export const mayChangeUsers = (BigInt(`0x${capabilities}`) & SETUID_AND_SETGID) === SETUID_AND_SETGID;

/** Reason to skip the tests of a confinement method on this machine, or false. */
export function cannotConfine(method: 'auto' | 'bubblewrap' | 'uid'): string | false {
  if (method === 'uid' && !mayChangeUsers) return 'this user may not change users';
  const inContainer = mayChangeUsers && process.getuid?.() !== 0;
  return method === 'bubblewrap' && inContainer ? 'bubblewrap refuses a user with capabilities' : false;
}
