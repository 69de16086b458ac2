import { COMMAND_ENV, gitIdentity, type OpenTree, type Workspace } from '@hermes-fleet/workspace';

/** How the agent's commands run. */
export interface ShellOptions {
  readonly profile: string;
  /** The absolute path of the shell. */
  readonly shell: string;
  /** `tools.shell.env`. */
  readonly env: Readonly<Record<string, string>>;
}

/** The working tree may belong to a user other than the command's. */
const TRUST_WORKSPACE = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};
const IN_HOME = '[ -d "$HOME" ] || mkdir -p "$HOME"; exec "$@"';

/** The confined command line that runs a command in the shell, and its environment. */
export function shellLine(
  { profile, shell, env }: ShellOptions,
  workspace: Pick<Workspace, 'env'> & Pick<OpenTree, 'wrap'>,
  command: string,
) {
  // Set within the confinement: the programs that confine a command do not get them.
  const configured = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const inner = [...(configured.length > 0 ? ['env', ...configured] : []), shell, '-c', command];
  return {
    line: workspace.wrap('/bin/sh', ['-c', IN_HOME, 'sh', ...inner]),
    env: { ...COMMAND_ENV, ...gitIdentity(profile), ...TRUST_WORKSPACE, ...workspace.env },
  };
}
