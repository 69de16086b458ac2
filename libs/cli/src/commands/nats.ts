import {
  type BusConnection,
  type ForgetOutcome,
  type FoundHead,
  forgetHead,
  setUpStreams,
} from '@hermes-fleet/events';
import { FleetError, type Log, systemClock } from '@hermes-fleet/protocol';
import { createLogger } from '@hermes-fleet/service';
import { readOptions, UsageError } from '../command-line/options.ts';
import { plain, printJson, printLines } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { setupConnectionFromEnv, setupConnectionFromKeys } from '../keys/setup-user.ts';
import type { FleetPlan } from '../local/plan.ts';

const TIMEOUT_MS = 10_000;

/**
 * `fleet nats forget-head <service>`: shows the head that NATS holds of a service's audit, and removes it, for an audit
 * that was put back on purpose. `--as-is` takes server and keys from the environment of this process, as inside the
 * container of the set-up user; else it is the fleet of plain processes in `--dir`. Exit code 0 when NATS holds no head
 * now, 1 when another one came in between.
 */
async function forgetHeadCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    'as-is': { type: 'boolean' },
    server: { type: 'string' },
    dir: { type: 'string' },
    'port-offset': { type: 'string' },
    json: { type: 'boolean' },
  });
  const [service, ...more] = positionals;
  if (service === undefined || more.length > 0)
    throw new UsageError('nats forget-head takes the name of one service');
  if (values.server !== undefined && !values['as-is'])
    throw new UsageError('--server is for --as-is: else it is that of the fleet in --dir');
  const connection = values['as-is']
    ? setupConnectionFromEnv(env, values.server)
    : connectionOfFleet(plannedFleet(values));
  let found: FoundHead | undefined;
  const outcome = await forgetHead({
    connection,
    service,
    timeoutMs: TIMEOUT_MS,
    onFound: (it) => {
      found = it;
      const lines = renderFound(service, it);
      // Before it is gone, also where the answer is one object for a program.
      if (values.json) for (const line of lines) console.error(plain(line));
      else printLines(lines);
    },
  });
  if (values.json) printJson({ service, outcome, ...wireOf(found) });
  else printLines([SAYS[outcome](service)]);
  return outcome === 'replaced' ? 1 : 0;
}

const connectionOfFleet = ({ keysDir, nats }: FleetPlan): BusConnection =>
  setupConnectionFromKeys(keysDir, nats.url);

const SAYS: Readonly<Record<ForgetOutcome, (service: string) => string>> = {
  forgotten: (service) =>
    `forgotten: ${service} publishes the head of the audit that it has at its next start`,
  none: (service) => `NATS holds no head of the audit of ${service}: there is nothing to forget`,
  replaced: (service) => `not forgotten: ${service} published another head meanwhile, which is left`,
};

function renderFound(service: string, { head, storedAt, bytes }: FoundHead): string[] {
  return [
    `what NATS holds as the head of the audit of ${service}`,
    ...(head
      ? [`  record     ${head.seq}, ${head.hash}`, `  file       ${head.store}`]
      : [`  no head: ${bytes} bytes of something else`]),
    `  published  ${storedAt}`,
  ];
}

const wireOf = (found: FoundHead | undefined) =>
  found ? { head: found.head ? { ...found.head } : null, stored_at: found.storedAt, bytes: found.bytes } : {};

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
  const connection = setupConnectionFromEnv(env, values.server);
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
