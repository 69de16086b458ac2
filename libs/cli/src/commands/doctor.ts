import { renderReport } from '../doctor/render.ts';
import { examine } from '../doctor/report.ts';
import { commandOf, memberEnv } from '../local/plan.ts';
import { inherited } from '../local/up.ts';
import { readOptions, UsageError } from './options.ts';
import { plannedFleet, printJson, printLines } from './running-fleet.ts';

/**
 * `fleet doctor`: what a start of the profile, or of the trader, would say of its configuration, and whether everything that it talks to
 * can be reached and is what it should be. `--as-is` takes the environment of this process, as inside a container;
 * else it is the fleet of plain processes in `--dir`. Exit code 1 when a check failed.
 */
export async function doctorCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    profile: { type: 'string' },
    'as-is': { type: 'boolean' },
    dir: { type: 'string' },
    'port-offset': { type: 'string' },
    json: { type: 'boolean' },
  });
  if (positionals.length > 0) throw new UsageError(`doctor takes no "${positionals.join(' ')}"`);
  const plan = plannedFleet(values);
  const name = values.profile ?? 'switch';
  const planned = plan.members.find((each) => each.name === name);
  if (!planned && !values['as-is'])
    throw new UsageError(
      `there is no profile ${name}, only ${plan.members.map((each) => each.name).join(', ')}`,
    );
  const report = await examine(name, {
    command: commandOf(plan.root, name),
    env: planned && !values['as-is'] ? { ...inherited(env), ...memberEnv(plan, planned) } : env,
    cwd: plan.root,
  });
  if (values.json) printJson(report);
  else printLines(renderReport(report));
  return report.ok === true ? 0 : 1;
}
