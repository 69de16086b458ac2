import { join, resolve } from 'node:path';
import { revision } from '@hermes-fleet/installation';
import manifest from '../../package.json' with { type: 'json' };

/** The version of this build; all packages share it. */
export const { version } = manifest;

/** The folders of a member of the fleet. */
export interface MemberEnvironment {
  readonly name: string;
  /** Holds the configuration of all members on this host: `profiles/<name>/` and `trader/`. */
  readonly home: string;
  /** Holds fleet.yaml, IDENTITY.md and this member's other configuration. */
  readonly dir: string;
  /** Holds ledger, stores and the owner lock; readable by this member alone. */
  readonly stateDir: string;
  readonly logLevel: string;
  /** The revision of the sources, if it is known. */
  readonly revision?: string | undefined;
}

const TRADER = 'trader';
const PROFILES = 'profiles';

export const profileDir = (home: string, name: string): string => join(home, PROFILES, name);
export const traderDir = (home: string): string => join(home, TRADER);
export const profilesDir = (home: string): string => join(home, PROFILES);

/**
 * Reads a member's environment variables: `HERMES_HOME` (default `deploy`), `HERMES_STATE_DIR` (default `state` in the
 * member's folder) and `LOG_LEVEL` (default `info`).
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
    revision: env.FLEET_REVISION || revision(),
  };
}
