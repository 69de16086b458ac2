import { setUpStreams } from '@hermes-fleet/events';
import { FleetError, type Log, systemClock } from '@hermes-fleet/protocol';
import { createLogger } from '@hermes-fleet/service';
import { setupConnectionOf } from '../keys/setup-user.ts';
import { forgetHeadCommand } from './nats-forget-head.ts';
import { readOptions, UsageError } from './options.ts';

const GIVE_UP_MS = 60_000;
const PAUSE_MS = 1_000;

/** `fleet nats setup|forget-head`: what is done to the event bus as its set-up user (design 5, Containers). */
export async function natsCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [verb = '', ...rest] = argv;
  switch (verb) {
    case 'setup':
      return setupCommand(rest, env);
    case 'forget-head':
      return forgetHeadCommand(rest, env);
    default:
      throw new UsageError(verb === '' ? 'nats needs a command' : `no such command: nats ${verb}`);
  }
}

/**
 * `fleet nats setup`: creates or updates the event streams as the set-up user, whose name and password are NATS_USER and
 * NATS_PASSWORD in the environment or in HERMES_KEYS_DIR. Waits up to a minute for a server that does not answer yet.
 */
async function setupCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, { server: { type: 'string' } });
  if (positionals.length > 0) throw new UsageError(`nats setup takes no "${positionals.join(' ')}"`);
  const connection = setupConnectionOf(env, values.server);
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
