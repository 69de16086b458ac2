import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { readSecret } from './secret-file.ts';

/** The profile that takes tasks from users and sends decisions to the trader. */
export const ORCHESTRATOR = 'switch';
/** The service that applies control decisions. */
export const TRADER = 'trader';

/** The human caller, who may call every service. */
export const OPERATOR = 'operator';
/** The NATS user that creates streams. */
export const SETUP = 'setup';
/** The service that shows the fleet in a browser. It reads events, calls no service with a token of its own, and is called by none. */
export const CONSOLE = 'console';
const NATS = 'nats';

/** True for a name that a service can have. */
export const isName = (text: string): boolean => /^[a-z][a-z0-9-]{0,62}$/.test(text);
const RESERVED = new Set([OPERATOR, SETUP, CONSOLE, NATS]);

/** A name as variables have it. */
export const upper = (name: string): string => name.toUpperCase().replaceAll('-', '_');

/** The variable that holds the token of `from` for `to`: as plain text at `from`, as a hash at `to`. */
export const tokenVariable = (from: string, to: string): string =>
  from === OPERATOR
    ? `A2A_HERMES_TOKEN_${upper(OPERATOR)}`
    : `A2A_HERMES_TOKEN_${upper(from)}_TO_${upper(to)}`;

/** True between any two profiles, and between the trader and the orchestrator. */
export function mayCall(from: string, to: string): boolean {
  if (from === to) return false;
  if (from !== TRADER && to !== TRADER) return true;
  return from === ORCHESTRATOR || to === ORCHESTRATOR;
}

/** Paths below the keys folder. Every reader has its own folder, so that a container mounts only its own keys. */
export const keyPaths = (dir: string) => ({
  folder: (reader: string) => join(dir, reader),
  variable: (reader: string, variable: string) => join(dir, reader, variable),
  operatorToken: join(dir, OPERATOR, 'token'),
  consoleLogin: join(dir, CONSOLE, 'CONSOLE_LOGIN'),
  natsFolder: join(dir, NATS),
  natsConfig: join(dir, NATS, 'nats.conf'),
  natsClusterConfig: join(dir, NATS, 'nats-cluster.conf'),
  /** The servers of the NATS cluster, which a later run without `--nats-cluster` keeps. */
  natsServers: join(dir, NATS, 'CLUSTER_SERVERS'),
  natsRoutePassword: join(dir, NATS, 'ROUTE_PASSWORD'),
});

/** The operator's token; undefined when there are no keys. */
export const readOperatorToken = (dir: string): string | undefined => readSecret(keyPaths(dir).operatorToken);

/** The services that have keys in a folder. */
export function servicesWithKeys(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  const { variable } = keyPaths(dir);
  return readdirSync(dir)
    .filter((name) => isName(name) && !RESERVED.has(name) && existsSync(variable(name, 'NATS_USER')))
    .toSorted();
}

/** Throws CONFIG_INVALID that names every invalid service name. */
export function checkServices(services: readonly string[]): void {
  const fields = services.flatMap((name, index) => {
    if (!isName(name)) return [{ path: name, reason: 'is not a name of lower-case letters, digits and "-"' }];
    if (RESERVED.has(name)) return [{ path: name, reason: 'is reserved by the keys folder' }];
    if (services.indexOf(name) !== index) return [{ path: name, reason: 'appears twice' }];
    return [];
  });
  if (services.length === 0) fields.push({ path: 'services', reason: 'is empty' });
  if (fields.length > 0)
    throw new FleetError('CONFIG_INVALID', 'these services cannot have keys', { fields });
}
