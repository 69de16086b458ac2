import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { command, type Values } from '../command-line/command.ts';
import { keysTokenUsage, operatorTokenUsage } from '../command-specs/keys.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { readOperatorToken } from '../keys/layout.ts';

const tokenCommand = (usage: typeof operatorTokenUsage) =>
  command(usage, ({ values, env, show }) => {
    const dir = folderOf(values, env);
    const token = readOperatorToken(dir);
    if (token === undefined)
      throw new FleetError('CONFIG_INVALID', `no keys in ${dir}: make up (or fleet keys init) creates them`);
    show({ token }, () => [token]);
  });

/** `fleet token` and `fleet keys token`; of a module without a library of NATS, as scripts call them often. */
export const commands = [tokenCommand(operatorTokenUsage), tokenCommand(keysTokenUsage)];

/** `--dir`, else FLEET_KEYS_DIR, else `.fleet/keys`. */
export const folderOf = (values: Values<typeof operatorTokenUsage.options>, env: NodeJS.ProcessEnv): string =>
  values.dir ?? env.FLEET_KEYS_DIR ?? join(currentFolder().dir, 'keys');
