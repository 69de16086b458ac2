import {
  type BusConnection,
  type ForgetOutcome,
  type FoundHead,
  forgetHead,
  setUpStreams,
} from '@hermes-fleet/events';
import { FleetError, parseJson } from '@hermes-fleet/protocol';
import { type Answer, RefillReport } from '@hermes-fleet/protocol/api';
import { type Log, systemClock } from '@hermes-fleet/protocol/ports';
import { createLogger } from '@hermes-fleet/service';
import { z } from 'zod';
import { command } from '../command-line/command.ts';
import { oneArgument, UsageError, wholeNumber } from '../command-line/option-values.ts';
import { columns, printLines } from '../command-line/output.ts';
import { natsForgetHeadUsage, natsRefillUsage, natsSetupUsage } from '../command-specs/keys.ts';
import { compose } from '../containers/docker.ts';
import { lastLine, wordsOf } from '../containers/inside.ts';
import { requireService } from '../containers/list-containers.ts';
import { runOnFiles } from '../containers/read-volume.ts';
import { placeOf } from '../containers/state-place.ts';
import { currentFolder, type FleetFolder } from '../folder/fleet-folder.ts';
import { ORCHESTRATOR, SETUP } from '../keys/layout.ts';
import { connectionFromEnv, connectionFromKeys } from '../keys/nats-user.ts';
import { type EntryPoint, runEntryPoint } from '../local/entry-point.ts';
import { planFleet } from '../local/plan.ts';
import { findEntryPoint, fleetInContainers, namesProcesses, plannedFleet } from '../running/running-fleet.ts';

const SETUP_MS = 60_000;
const RETRY_MS = 1_000;
const FORGET_MS = 10_000;

/**
 * `fleet nats setup`: creates or updates the event streams as the setup user, with NATS_USER and NATS_PASSWORD from the
 * environment or HERMES_KEYS_DIR. Retries for up to a minute while the server does not answer or the cluster forms.
 */
const setupCommand = command(natsSetupUsage, async ({ values, env }) => {
  const connection = connectionFromEnv(SETUP, env, values.server);
  const replicas = wholeNumber('replicas', values.replicas, undefined, [1, 5]);
  const log = createLogger({ name: 'nats-setup', level: env.LOG_LEVEL });
  await setUpWithRetries(connection, log, replicas);
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
    const containers = await fleetInContainers(values, env);
    if (containers) {
      await requireService(containers, env, 'nats');
      const job = ['run', '--rm', '--no-deps', '-T', '--entrypoint', 'fleet', 'nats-setup'];
      const words = ['nats', 'forget-head', '--as-is', ...wordsOf(values), service];
      return (await compose(containers, [...job, ...words], { output: 'inherit', env })).code;
    }
    const plan = values['as-is'] ? undefined : plannedFleet(values);
    let found: FoundHead | undefined;
    const outcome = await forgetHead({
      connection: plan
        ? connectionFromKeys(SETUP, plan.keysDir, plan.nats.url)
        : connectionFromEnv(SETUP, env, values.server),
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

/** A large ledger takes minutes on a cluster, which stores some hundred events a second. */
const REFILL_MS = 40 * 60_000;

/**
 * `fleet nats refill`: publishes again, under the same ids, the events that the bus has acknowledged and its stream lacks,
 * from the ledgers of all services or of `--profile`. Runs beside a service, or while it is down. `--as-is` uses this
 * process's environment, as inside a container. Exit code 1 when a service could not be refilled.
 */
const refillCommand = command(natsRefillUsage, async ({ values, env, stderr, show }) => {
  const place = namesProcesses(values)
    ? undefined
    : await placeOf(currentFolder(), env, `state/${values.profile ?? ORCHESTRATOR}`);
  if (place) printLines(stderr, [`the ledgers are read from ${place.text}`]);
  const folder = place?.mode === 'docker' ? currentFolder() : undefined;
  if (folder) await requireService(folder, env, 'nats');
  const { members } = folder ? planFleet({ root: folder.root }) : plannedFleet(values);
  const names = values.profile ? [values.profile] : members.map(({ name }) => name);
  const options = values['dry-run'] ? ['--dry-run'] : [];
  const reports: (Refilled | Problem)[] = [];
  // One after the other: the events of each service come in order, and NATS is not flooded.
  for (const name of names)
    reports.push(
      folder
        ? await refillContainer(folder, env, name, options)
        : await refillService(name, findEntryPoint(values, name, env), options),
    );
  show({ services: reports }, ({ services }) => renderReports(services, values['dry-run'] === true));
  return reports.some((each) => 'problem' in each) ? 1 : 0;
});

type Refilled = Answer<typeof RefillReport>;

/** Why a service could not be refilled. */
type Problem = { readonly profile: string; readonly problem: string };

async function refillService(
  profile: string,
  entryPoint: EntryPoint,
  options: readonly string[],
): Promise<Refilled | Problem> {
  const { code, stdout, stderr } = await runEntryPoint(entryPoint, ['--refill', ...options], REFILL_MS);
  if (code === 0) return RefillReport.parse(JSON.parse(stdout));
  return { profile, problem: stderr.trim() || `no report within ${REFILL_MS / 60_000} minutes` };
}

const Reports = z.object({
  services: z.tuple([z.union([RefillReport, z.object({ profile: z.string(), problem: z.string() })])]),
});
const Refused = z.object({ error: z.object({ message: z.string() }) });

/** As `refillService`, in the container of the service, which has its ledger and reaches NATS. */
async function refillContainer(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  profile: string,
  options: readonly string[],
): Promise<Refilled | Problem> {
  const words = ['nats', 'refill', '--as-is', `--profile=${profile}`, ...options, '--json'];
  const { stdout, stderr } = await runOnFiles(folder, env, profile, words, 'text');
  if (stdout === '') return { profile, problem: lastLine(stderr) };
  const told = z.union([Reports, Refused]).parse(parseJson(stdout));
  return 'error' in told ? { profile, problem: told.error.message } : told.services[0];
}

function renderReports(reports: readonly (Refilled | Problem)[], isDryRun: boolean): string[] {
  const done = reports.flatMap((each) => ('problem' in each ? [] : [each]));
  const table = columns(
    ['service', 'acknowledged', 'missing', 'published'],
    done.map(({ profile, acknowledged, missing, published }) => [profile, acknowledged, missing, published]),
  );
  return [
    ...(done.length > 0 ? table : []),
    ...done.flatMap(({ profile, removed_tasks: removed }) =>
      removed > 0
        ? [
            `${profile}: its ledger no longer has ${removed} ended tasks, whose events cannot be published again`,
          ]
        : [],
    ),
    ...reports.flatMap((each) => ('problem' in each ? [`${each.profile}: ${each.problem}`] : [])),
    ...(isDryRun && done.some(({ missing }) => missing > 0)
      ? ['fleet nats refill publishes what is missing']
      : []),
  ];
}

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
