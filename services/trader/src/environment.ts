import { parseArgs } from 'node:util';
import { type MemberEnvironment, readMemberEnvironment, traderDir } from '@hermes-fleet/member';
import { FleetError } from '@hermes-fleet/protocol';

/** The one name that a trader has: there is one in a fleet. */
export const TRADER = 'trader';

/**
 * Reads the command line and the environment of the trader: `HERMES_HOME` holds `trader/`, and state defaults to a
 * folder in it. `--profile trader` is taken too, so that all members can be started alike.
 */
export function readEnvironment(argv: readonly string[], env: NodeJS.ProcessEnv): MemberEnvironment {
  const { values } = parseArgs({ args: [...argv], options: { profile: { type: 'string' } }, strict: true });
  const { profile = TRADER } = values;
  if (profile !== TRADER)
    throw new FleetError('CONFIG_INVALID', `this is the trader, not ${profile}: start it without --profile`);
  return readMemberEnvironment(TRADER, traderDir, env);
}
