import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { command, type Values } from '../command-line/command.ts';
import { ownCommand } from '../command-line/own-command.ts';
import { keysTokenUsage, operatorTokenUsage } from '../command-specs/keys.ts';
import { tokenOfContainers } from '../containers/inside.ts';
import { modeOf } from '../containers/mode.ts';
import { placeOf } from '../containers/state-place.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { readOperatorToken } from '../keys/layout.ts';

const keysTokenCommand = command(keysTokenUsage, ({ values, env, show }) => {
  const token = tokenIn(folderOf(values, env));
  show({ token }, () => [token]);
});

function tokenIn(dir: string): string {
  const token = readOperatorToken(dir);
  if (token !== undefined) return token;
  throw new FleetError(
    'CONFIG_INVALID',
    `no keys in ${dir}: ${ownCommand('up')} (or fleet keys init) creates them`,
  );
}

/** `fleet token`: of the fleet that runs, else of where its keys are. */
const operatorTokenCommand = command(operatorTokenUsage, async ({ values, env, show }) => {
  const token = await operatorToken(values, env);
  show({ token }, () => [token]);
});

async function operatorToken(
  values: Values<typeof operatorTokenUsage.options>,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  if (values.dir === undefined && env.FLEET_KEYS_DIR === undefined) {
    const folder = currentFolder();
    if ((await modeOf(folder, env)) === 'docker') {
      const { mode } = await placeOf(folder, env, 'keys/operator');
      if (mode === 'docker') return await tokenOfContainers(folder, env);
    }
  }
  return tokenIn(folderOf(values, env));
}

/** `fleet token` and `fleet keys token`; of a module without a library of NATS, as scripts call them often. */
export const commands = [operatorTokenCommand, keysTokenCommand];

/** `--dir`, else FLEET_KEYS_DIR, else `.fleet/keys`. */
export const folderOf = (values: Values<typeof operatorTokenUsage.options>, env: NodeJS.ProcessEnv): string =>
  values.dir ?? env.FLEET_KEYS_DIR ?? join(currentFolder().dir, 'keys');
