import type { Finding } from '@hermes-fleet/gateway';
import { remoteOf } from '@hermes-fleet/loop';
import { FleetError } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import type { SecretEnv } from '@hermes-fleet/service';
import { checkRemote, createGit, hasCode, type Remote } from '@hermes-fleet/workspace';
import type { Configuration } from './read-configuration.ts';

const AWAY =
  'see that the host answers; new contexts are refused until then, but where allow_stale_base is true';

/** Asks the host of each repository for its base, with its token. */
export async function examineRepositories(
  { agent, fleet }: Pick<Configuration, 'agent' | 'fleet'>,
  env: SecretEnv,
): Promise<Finding[]> {
  if (fleet.fleet.response_handler !== 'agent') return [];
  const git = createGit({ profile: 'doctor', clock: systemClock, log: silentLog });
  const remotes = Object.entries(agent.workspace.repositories);
  return Promise.all(remotes.map(([name, repository]) => examine(git, remoteOf(name, repository, env))));
}

async function examine(git: ReturnType<typeof createGit>, remote: Remote): Promise<Finding> {
  const found = { subject: `repository ${remote.name}`, check: 'base' } as const;
  try {
    const fault = await checkRemote(git, remote);
    if (fault === undefined) return { ...found, state: 'ok', detail: `${remote.base} of ${remote.url}` };
    const { detail, isAway } = fault;
    return isAway ? { ...found, state: 'warning', detail, fix: AWAY } : { ...found, state: 'failed', detail };
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT'))
      return { ...found, state: 'failed', detail: 'there is no git here', fix: 'install git' };
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID')
      return { ...found, state: 'failed', detail: thrown.message };
    throw thrown;
  }
}
