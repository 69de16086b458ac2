import {
  type BusConnection,
  type ForgetOutcome,
  type FoundHead,
  forgetHead,
  setUpStreams,
} from '@hermes-fleet/events';
import { FleetError } from '@hermes-fleet/protocol';
import { type Log, systemClock } from '@hermes-fleet/protocol/ports';
import { createLogger } from '@hermes-fleet/service';
import { command } from '../command-line/command.ts';
import { oneArgument, UsageError, wholeNumber } from '../command-line/options.ts';
import { printLines } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { setupConnectionFromEnv, setupConnectionFromKeys } from '../keys/setup-user.ts';
import { natsForgetHeadUsage, natsSetupUsage } from '../usage/keys.ts';
import { refillCommand } from './nats-refill.ts';

const SETUP_MS = 60_000;
const RETRY_MS = 1_000;
const FORGET_MS = 10_000;

/**
 * `fleet nats setup`: creates or updates the event streams as the setup user, with NATS_USER and NATS_PASSWORD from the
 * environment or HERMES_KEYS_DIR. Retries for up to a minute while the server does not answer or the cluster forms.
 */
const setupCommand = command(natsSetupUsage, async ({ values, env }) => {
  const connection = setupConnectionFromEnv(env, values.server);
  const replicas = values.replicas === undefined ? undefined : wholeNumber('replicas', values.replicas, 1);
  if (replicas !== undefined && (replicas < 1 || replicas > 5))
    throw new UsageError(`--replicas must be 1 to 5, not ${replicas}`);
  const log = createLogger({ name: 'nats-setup', level: env.LOG_LEVEL });
  await setUpWithRetries(connection, log, replicas);
  return 0;
});

async function setUpWithRetries(
  connection: BusConnection,
  log: Log,
  replicas: number | undefined,
): Promise<void> {
  const giveUpAt = systemClock.now() + SETUP_MS;
  for (;;) {
    try {
      await setUpStreams({ connection, log, replicas });
      return;
    } catch (error) {
      if (!(error instanceof FleetError && error.retryable) || systemClock.now() >= giveUpAt) throw error;
      log.info({ reason: error.message }, 'the event bus is not ready yet');
      await systemClock.sleep(RETRY_MS);
    }
  }
}

/**
 * `fleet nats forget-head <service>`: prints the audit head that NATS holds for a service and removes it, so that a
 * deliberately restored audit is accepted. `--as-is` takes the server and the keys from this process's environment, as
 * inside the setup user's container. Exit code 0 when NATS holds no head afterwards, 1 when another one was published
 * in between.
 */
const forgetHeadCommand = command(
  natsForgetHeadUsage,
  async ({ values, positionals, env, stdout, stderr, print, show }) => {
    const service = oneArgument(positionals, 'nats forget-head takes the name of one service');
    if (values.server !== undefined && !values['as-is'])
      throw new UsageError('--server needs --as-is: otherwise the server is that of the fleet in --dir');
    const planned = (): BusConnection => {
      const { keysDir, nats } = plannedFleet(values);
      return setupConnectionFromKeys(keysDir, nats.url);
    };
    let found: FoundHead | undefined;
    const outcome = await forgetHead({
      connection: values['as-is'] ? setupConnectionFromEnv(env, values.server) : planned(),
      service,
      timeoutMs: FORGET_MS,
      onFound: (head) => {
        found = head;
        const lines = renderFound(service, head);
        // Printed before the removal, so that the head is not lost if the command is interrupted.
        printLines(print ? stderr : stdout, lines);
      },
    });
    show({ service, outcome, ...wireOf(found) }, () => [MESSAGES[outcome](service)]);
    return outcome === 'replaced' ? 1 : 0;
  },
);

/** `fleet nats setup|refill|forget-head`: administers the event bus. */
export const commands = [setupCommand, refillCommand, forgetHeadCommand];

const MESSAGES: Readonly<Record<ForgetOutcome, (service: string) => string>> = {
  forgotten: (service) => `forgotten: ${service} publishes the head of its current audit at its next start`,
  none: (service) => `NATS holds no audit head of ${service}: there is nothing to forget`,
  replaced: (service) => `not forgotten: ${service} published another head meanwhile, which is kept`,
};

function renderFound(service: string, { head, storedAt, bytes }: FoundHead): string[] {
  return [
    `the audit head that NATS holds for ${service}`,
    ...(head
      ? [`  record     ${head.seq}, ${head.hash}`, `  file       ${head.store}`]
      : [`  no head: ${bytes} bytes of something else`]),
    `  published  ${storedAt}`,
  ];
}

const wireOf = (found: FoundHead | undefined) =>
  found ? { head: found.head ? { ...found.head } : null, stored_at: found.storedAt, bytes: found.bytes } : {};
