import { parseArgs } from 'node:util';
import { type MemberEnvironment, readMemberEnvironment, traderDir } from '@hermes-fleet/gateway/member';
import { FleetError } from '@hermes-fleet/protocol';

/** The trader's name. A fleet has one trader. */
export const TRADER_NAME = 'trader';

/**
 * Reads the command line and the environment: `HERMES_HOME` contains `trader/`, and the state folder defaults to a folder
 * in it. `--profile trader` is accepted, so that all members start with the same command line.
 */
export function readEnvironment(argv: readonly string[], env: NodeJS.ProcessEnv): MemberEnvironment {
  const { values } = parseArgs({ args: [...argv], options: { profile: { type: 'string' } }, strict: true });
  const { profile = TRADER_NAME } = values;
  if (profile !== TRADER_NAME)
    throw new FleetError('CONFIG_INVALID', `this is the trader, not ${profile}: start it without --profile`);
  return readMemberEnvironment(TRADER_NAME, traderDir, env);
}
