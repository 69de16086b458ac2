import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';

/** The profile that takes work from outside, and tells the trader what to do. */
export const ORCHESTRATOR = 'switch';
/** The profiles of the fleet that ships. */
export const PROFILES: readonly string[] = [ORCHESTRATOR, 'neo', 'morpheus', 'trinity'];
/** The service that applies control decisions. */
export const TRADER = 'trader';
/** The services of the fleet that ships. */
export const DEFAULT_SERVICES: readonly string[] = [...PROFILES, TRADER];

/** Who may call every service but is none: the person at the keyboard. */
export const OPERATOR = 'operator';
/** The NATS user that creates streams. */
export const SETUP = 'setup';
const NATS = 'nats';

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
const RESERVED = new Set([OPERATOR, SETUP, NATS]);

const upper = (name: string): string => name.toUpperCase().replaceAll('-', '_');

/** The variable of the token that `from` shows to `to`: in plain at `from`, as a hash at `to`. */
export const tokenVariable = (from: string, to: string): string =>
  from === OPERATOR
    ? `A2A_HERMES_TOKEN_${upper(OPERATOR)}`
    : `A2A_HERMES_TOKEN_${upper(from)}_TO_${upper(to)}`;

/** Whether `from` has a token for `to`: every profile for every other one; the trader and the orchestrator for each other. */
export function mayCall(from: string, to: string): boolean {
  if (from === to) return false;
  if (from !== TRADER && to !== TRADER) return true;
  return from === ORCHESTRATOR || to === ORCHESTRATOR;
}

/** Where everything lies below the keys folder: one folder per reader, so that each can be a volume of its own. */
export const keyPaths = (dir: string) => ({
  folder: (reader: string) => join(dir, reader),
  variable: (reader: string, variable: string) => join(dir, reader, variable),
  operatorToken: join(dir, OPERATOR, 'token'),
  natsFolder: join(dir, NATS),
  natsConfig: join(dir, NATS, 'nats.conf'),
});

/** Checks the names of services. Throws CONFIG_INVALID naming every wrong one. */
export function checkServices(services: readonly string[]): void {
  const fields = services.flatMap((name, index) => {
    if (!NAME.test(name))
      return [{ path: name, reason: 'is not a name of lower-case letters, digits and "-"' }];
    if (RESERVED.has(name)) return [{ path: name, reason: 'is a name that the keys folder uses itself' }];
    if (services.indexOf(name) !== index) return [{ path: name, reason: 'is named twice' }];
    return [];
  });
  if (services.length === 0) fields.push({ path: 'services', reason: 'names nobody' });
  if (fields.length > 0)
    throw new FleetError('CONFIG_INVALID', 'these services cannot have keys', { fields });
}
