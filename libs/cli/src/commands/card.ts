import { FleetError } from '@hermes-fleet/protocol';
import { readOptions, UsageError } from '../command-line/options.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { askEntryPoint, GIVE_UP_MS } from '../local/entry-point.ts';
import { commandOf, memberEnv } from '../local/plan.ts';
import { inherited } from '../local/up.ts';

/**
 * `fleet card <profile>`: the agent card that this profile serves, as JSON, made from its files alone: nothing has to run
 * and no credential has to be there (design 3, Agent card). `--as-is` takes the environment of this process.
 */
export async function cardCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    'as-is': { type: 'boolean' },
    dir: { type: 'string' },
    'port-offset': { type: 'string' },
  });
  const [profile, ...rest] = positionals;
  if (profile === undefined || rest.length > 0) throw new UsageError('card takes the name of one profile');
  const plan = plannedFleet(values);
  const planned = plan.members.find(({ name }) => name === profile);
  if (!planned && !values['as-is'])
    throw new UsageError(
      `there is no profile ${profile}, only ${plan.members.map(({ name }) => name).join(', ')}; --as-is looks below HERMES_HOME`,
    );
  const { code, stdout, stderr } = await askEntryPoint({
    command: commandOf(plan.root, profile),
    question: ['--card'],
    cwd: plan.root,
    env: planned && !values['as-is'] ? { ...inherited(env), ...memberEnv(plan, planned) } : env,
  });
  if (code !== 0) {
    const said = stderr.trim() || `no card within ${GIVE_UP_MS / 1000} s`;
    throw new FleetError('CONFIG_INVALID', `${profile} has no agent card: ${said}`);
  }
  process.stdout.write(stdout);
  return 0;
}
