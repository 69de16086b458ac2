import { join, resolve } from 'node:path';
import { revision } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';

/** The name of the console, of its NATS user and of its key folder. */
export const CONSOLE_NAME = 'console';

/** The environment of the console (docs/console.md#configuration). */
export interface ConsoleEnvironment {
  /** Holds console.yaml. */
  readonly dir: string;
  /** Holds console.db and the owner lock. */
  readonly stateDir: string;
  readonly host: string;
  readonly port: number;
  readonly logLevel: string;
  /** The revision of the sources, if it is known. */
  readonly revision?: string | undefined;
}

const DEFAULT_PORT = 9224;

/** Reads the environment variables; throws CONFIG_INVALID with the name of the wrong one. */
export function readEnvironment(argv: readonly string[], env: NodeJS.ProcessEnv): ConsoleEnvironment {
  if (argv.length > 0)
    throw new FleetError('CONFIG_INVALID', `the console takes no arguments, and got ${argv.join(' ')}`);
  const dir = join(resolve(env.HERMES_HOME ?? 'deploy'), CONSOLE_NAME);
  return {
    dir,
    stateDir: resolve(env.HERMES_STATE_DIR ?? join(dir, 'state')),
    host: env.BIND_HOST || '127.0.0.1',
    port: portIn(env.CONSOLE_PORT),
    logLevel: env.LOG_LEVEL ?? 'info',
    revision: env.FLEET_REVISION || revision(),
  };
}

function portIn(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_PORT;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new FleetError('CONFIG_INVALID', `CONSOLE_PORT is "${text}": it must be a port number`);
}
