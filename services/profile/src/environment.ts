import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type MemberEnvironment, profileDir, readMemberEnvironment } from '@hermes-fleet/member';
import { FleetError } from '@hermes-fleet/protocol';
import { parseUserRange, type UserRange } from '@hermes-fleet/workspace';

/** The directories of one profile's gateway. */
export interface Environment extends MemberEnvironment {
  /** The agent's workspace, which the commands that it runs can access. */
  readonly workspaceDir: string;
  /** The users of the contexts' commands; default: see `createConfinement`. */
  readonly commandUsers?: UserRange | undefined;
  /** `--call`: the examination of the profile calls the model once. */
  readonly callsModel?: boolean;
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

/**
 * Reads the command line and the environment of a gateway. `HERMES_HOME` contains `profiles/<name>/`; state and workspace
 * default to folders inside the profile's folder.
 */
export function readEnvironment(argv: readonly string[], env: NodeJS.ProcessEnv): Environment {
  const { values } = parseArgs({
    args: [...argv],
    options: { profile: { type: 'string' }, call: { type: 'boolean' } },
    strict: true,
  });
  const profile = values.profile ?? env.HERMES_PROFILE;
  if (profile === undefined || !NAME.test(profile)) {
    throw new FleetError(
      'CONFIG_INVALID',
      profile === undefined
        ? 'no profile named: start with --profile <name> (or set HERMES_PROFILE)'
        : `"${profile}" is not a profile name: use lower-case letters, digits and dashes`,
    );
  }
  const environment = readMemberEnvironment(profile, (home) => profileDir(home, profile), env);
  return {
    ...environment,
    workspaceDir: resolve(env.HERMES_WORKSPACE_DIR ?? join(environment.dir, 'workspace')),
    ...(values.call && { callsModel: true }),
    commandUsers: env.HERMES_COMMAND_USERS ? parseUserRange(env.HERMES_COMMAND_USERS) : undefined,
  };
}
