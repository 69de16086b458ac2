import { FleetError } from '@hermes-fleet/protocol';
import { readOptions, UsageError } from '../command-line/options.ts';
import { ENTRY_POINT_OPTIONS, findEntryPoint } from '../command-line/running-fleet.ts';
import { runEntryPoint, TIMEOUT_MS } from '../local/entry-point.ts';

/**
 * `fleet card <profile>`: prints the agent card that this profile serves, built from its files. It needs no running
 * fleet and no credential. `--as-is` uses this process's environment.
 */
export async function cardCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, ENTRY_POINT_OPTIONS);
  const [profile, ...rest] = positionals;
  if (profile === undefined || rest.length > 0) throw new UsageError('card takes the name of one profile');
  const { code, stdout, stderr } = await runEntryPoint(findEntryPoint(values, profile, env), ['--card']);
  if (code !== 0) {
    const reason = stderr.trim() || `no card within ${TIMEOUT_MS / 1000} s`;
    throw new FleetError('CONFIG_INVALID', `${profile} has no agent card: ${reason}`);
  }
  process.stdout.write(stdout);
  return 0;
}
