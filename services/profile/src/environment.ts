import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type MemberEnvironment, profileDir, readMemberEnvironment } from '@hermes-fleet/gateway/member';
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
/** What Docker gives a container as its host name if nobody else does. */
const CONTAINER_ID = /^[0-9a-f]{12}$/;

/**
 * Reads the command line and the environment of a gateway. `HERMES_HOME` contains `profiles/<profile>/`; state and
 * workspace default to folders inside the profile's folder. `--name`, else HERMES_NAME, is the member's own name, so that
 * one profile serves several members (docs/machines.md#replicas-of-a-profile). Default: the name of the profile.
 */
export function readEnvironment(argv: readonly string[], env: NodeJS.ProcessEnv): Environment {
  const { values } = parseArgs({
    args: [...argv],
    options: { profile: { type: 'string' }, name: { type: 'string' }, call: { type: 'boolean' } },
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
  const name = values.name ?? (env.HERMES_NAME?.trim() || profile);
  const problem = nameProblem(name);
  if (problem !== undefined) throw new FleetError('CONFIG_INVALID', problem);
  const environment = readMemberEnvironment(name, (home) => profileDir(home, profile), env);
  return {
    ...environment,
    workspaceDir: resolve(env.HERMES_WORKSPACE_DIR ?? join(environment.dir, 'workspace')),
    ...(values.call && { callsModel: true }),
    commandUsers: env.HERMES_COMMAND_USERS ? parseUserRange(env.HERMES_COMMAND_USERS) : undefined,
  };
}

/** A name is part of NATS subjects and of host names, and it stays while the member has its state. */
function nameProblem(name: string): string | undefined {
  if (CONTAINER_ID.test(name))
    return `"${name}" is the id of a container, which every new container changes: give the container a host name, or set --name or HERMES_NAME to a name that stays`;
  if (NAME.test(name)) return undefined;
  return `"${name}" is not a name of a member (--name, or HERMES_NAME): use a letter, then lower-case letters, digits and dashes, 63 characters at most`;
}
