import { type BusConnection, inboxPrefix } from '@hermes-fleet/events';
import { createSecretEnv } from '@hermes-fleet/service';
import { keyPaths, type OPERATOR, type SETUP } from './layout.ts';
import { readSecret } from './secret-file.ts';

type User = typeof OPERATOR | typeof SETUP;

/** What the connections of a user are for, as NATS shows it. */
const NAMES: Readonly<Record<User, string>> = { operator: 'fleet/events', setup: 'fleet/setup' };

/**
 * The connection of a user of NATS, with NATS_USER and NATS_PASSWORD from the environment or from HERMES_KEYS_DIR; the password is
 * empty without one. `server` and NATS_HOST may be lists.
 */
export function connectionFromEnv(user: User, env: NodeJS.ProcessEnv, server?: string): BusConnection {
  const hosts = (env.NATS_HOST ?? '127.0.0.1').split(',');
  const servers =
    server?.split(',') ?? hosts.map((host) => `nats://${host.trim()}:${env.NATS_PORT ?? '4222'}`);
  return connectionTo(user, servers, (name) => createSecretEnv(env).read(name));
}

/** As `connectionFromEnv`, to `server` and with the credentials from a keys folder. */
export const connectionFromKeys = (user: User, keysDir: string, server: string): BusConnection =>
  connectionTo(user, [server], (name) => readSecret(keyPaths(keysDir).variable(user, name)));

const connectionTo = (
  user: User,
  servers: readonly string[],
  secret: (name: string) => string | undefined,
): BusConnection => ({
  servers: servers.map((server) => server.trim()),
  user: secret('NATS_USER') ?? user,
  pass: secret('NATS_PASSWORD') ?? '',
  name: NAMES[user],
  inboxPrefix: inboxPrefix(user),
});
