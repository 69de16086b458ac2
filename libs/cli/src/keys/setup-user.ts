import { type BusConnection, inboxPrefix } from '@hermes-fleet/events';
import { createSecretEnv } from '@hermes-fleet/service';
import { keyPaths, SETUP } from './layout.ts';
import { readSecret } from './secret-file.ts';

/**
 * The setup user's connection, with NATS_USER and NATS_PASSWORD from the environment or from HERMES_KEYS_DIR. `server` and
 * NATS_HOST may be lists.
 */
export function setupConnectionFromEnv(env: NodeJS.ProcessEnv, server: string | undefined): BusConnection {
  const secrets = createSecretEnv(env);
  const hosts = (env.NATS_HOST ?? '127.0.0.1').split(',');
  return connectionTo(
    server?.split(',') ?? hosts.map((host) => `nats://${host.trim()}:${env.NATS_PORT ?? '4222'}`),
    secrets.read('NATS_USER') ?? SETUP,
    secrets.read('NATS_PASSWORD') ?? '',
  );
}

/** The setup user's connection to `server`, with its credentials from a keys folder. */
export function setupConnectionFromKeys(keysDir: string, server: string): BusConnection {
  const secret = (name: string): string => readSecret(keyPaths(keysDir).variable(SETUP, name)) ?? '';
  return connectionTo([server], secret('NATS_USER'), secret('NATS_PASSWORD'));
}

const connectionTo = (servers: readonly string[], user: string, pass: string): BusConnection => ({
  servers: servers.map((server) => server.trim()),
  user,
  pass,
  name: 'fleet/setup',
  inboxPrefix: inboxPrefix(SETUP),
});
