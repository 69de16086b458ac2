import { inboxPrefix, setUpStreams } from '@hermes-fleet/events';
import { FleetError, type Log, systemClock } from '@hermes-fleet/protocol';
import { createLogger, createSecretEnv } from '@hermes-fleet/service';
import { SETUP } from '../keys/layout.ts';
import { readOptions, UsageError } from './options.ts';

const GIVE_UP_MS = 60_000;
const PAUSE_MS = 1_000;

/**
 * `fleet nats setup`: creates or updates the event stream as the set-up user, whose name and password are NATS_USER and
 * NATS_PASSWORD in the environment or in HERMES_KEYS_DIR. Waits up to a minute for a server that does not answer yet.
 */
export async function natsCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, { server: { type: 'string' } });
  if (positionals.join(' ') !== 'setup')
    throw new UsageError(`no such command: nats ${positionals.join(' ')}`);
  const server = values.server ?? `nats://${env.NATS_HOST ?? '127.0.0.1'}:${env.NATS_PORT ?? '4222'}`;
  const secrets = createSecretEnv(env);
  const connection = {
    servers: [server],
    user: secrets.read('NATS_USER') ?? SETUP,
    pass: secrets.read('NATS_PASSWORD') ?? '',
    name: 'fleet/setup',
    inboxPrefix: inboxPrefix(SETUP),
  };
  await setUpWithPatience(connection, createLogger({ name: 'nats-setup', level: env.LOG_LEVEL }));
  return 0;
}

async function setUpWithPatience(
  connection: Parameters<typeof setUpStreams>[0]['connection'],
  log: Log,
): Promise<void> {
  const giveUpAt = systemClock.now() + GIVE_UP_MS;
  for (;;) {
    try {
      await setUpStreams({ connection, log });
      return;
    } catch (error) {
      if (!(error instanceof FleetError && error.retryable) || systemClock.now() >= giveUpAt) throw error;
      log.info({ reason: error.message }, 'the event bus does not answer yet');
      await systemClock.sleep(PAUSE_MS);
    }
  }
}
