import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { type Command, command } from '../command-line/command.ts';
import { downUsage, psUsage, upUsage } from '../command-specs/processes.ts';
import { currentFolder } from '../folder/fleet-folder.ts';

/** `fleet up|down|ps`: as `./fleet` does them, in the mode of the fleet (docs/operations.md#two-modes). */
export const commands: readonly Command[] = [
  command(upUsage, () => runScript('up', [])),
  command(downUsage, () => runScript('down', [])),
  command(psUsage, ({ output }) => runScript('ps', output === 'text' ? [] : ['-o', output])),
];

/** Runs a command of `./fleet`; returns its exit code. Throws UNSUPPORTED_OPERATION outside a checkout, as in a container. */
export function runScript(verb: string, args: readonly string[]): number {
  const script = join(currentFolder().home, 'fleet.sh');
  if (!existsSync(script))
    throw new FleetError(
      'UNSUPPORTED_OPERATION',
      `${verb} needs a checkout of the repository: make ${verb} there`,
    );
  const { status, signal, error } = spawnSync('sh', [script, verb, ...args], { stdio: 'inherit' });
  if (error) throw error;
  return status ?? (signal === 'SIGINT' ? 0 : 1);
}
