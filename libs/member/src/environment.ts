import { join, resolve } from 'node:path';

/** Where a member of the fleet finds what it reads and keeps what it writes. */
export interface MemberEnvironment {
  readonly name: string;
  /** The configuration of all members of this host: `profiles/<name>/` and `trader/`. */
  readonly home: string;
  /** Holds fleet.yaml, IDENTITY.md, and whatever else this member reads. */
  readonly dir: string;
  /** Ledger, stores and the owner lock; readable by the member alone. */
  readonly stateDir: string;
  readonly logLevel: string;
}

const TRADER = 'trader';
const PROFILES = 'profiles';

/** Where members keep their configuration below `HERMES_HOME`. */
export const profileDir = (home: string, name: string): string => join(home, PROFILES, name);
export const traderDir = (home: string): string => join(home, TRADER);
export const profilesDir = (home: string): string => join(home, PROFILES);

/**
 * Reads the environment of a member: `HERMES_HOME` (default `deploy`) holds its folder, `HERMES_STATE_DIR` its state
 * (default `state` in that folder), `LOG_LEVEL` (default `info`) says what it logs.
 */
export function readMemberEnvironment(
  name: string,
  dirIn: (home: string) => string,
  env: NodeJS.ProcessEnv,
): MemberEnvironment {
  const home = resolve(env.HERMES_HOME ?? 'deploy');
  const dir = dirIn(home);
  return {
    name,
    home,
    dir,
    stateDir: resolve(env.HERMES_STATE_DIR ?? join(dir, 'state')),
    logLevel: env.LOG_LEVEL ?? 'info',
  };
}
