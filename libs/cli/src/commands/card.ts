import { FleetError } from '@hermes-fleet/protocol';
import { command } from '../command-line/command.ts';
import { oneArgument, UsageError } from '../command-line/option-values.ts';
import { cardUsage } from '../command-specs/fleet.ts';
import { CONSOLE } from '../keys/layout.ts';
import { runEntryPoint, TIMEOUT_MS } from '../local/entry-point.ts';
import { findEntryPoint } from '../running/running-fleet.ts';

/**
 * `fleet card <profile>`: prints the agent card that this profile serves, built from its files. It needs no running
 * fleet and no credential. `--as-is` uses this process's environment.
 */
const cardCommand = command(cardUsage, async ({ values, positionals, env, stdout, print }) => {
  const profile = oneArgument(positionals, 'card takes the name of one profile');
  if (profile === CONSOLE) throw new UsageError('the console has no agent card: it is no agent');
  const card = await runEntryPoint(findEntryPoint(values, profile, env), ['--card']);
  if (card.code !== 0) {
    const reason = card.stderr.trim() || `no card within ${TIMEOUT_MS / 1000} s`;
    throw new FleetError('CONFIG_INVALID', `${profile} has no agent card: ${reason}`);
  }
  if (print) print(JSON.parse(card.stdout));
  else stdout.write(card.stdout);
});

export const commands = [cardCommand];
