import { type Answer, RefillReport } from '@hermes-fleet/protocol/api';
import { command } from '../command-line/command.ts';
import { columns } from '../command-line/output.ts';
import { findEntryPoint, plannedFleet } from '../command-line/running-fleet.ts';
import { type EntryPoint, runEntryPoint } from '../local/entry-point.ts';
import { natsRefillUsage } from '../usage/keys.ts';

/** A large ledger takes minutes on a cluster, which stores some hundred events a second. */
const REFILL_MS = 40 * 60_000;

/**
 * `fleet nats refill`: publishes again, under the same ids, the events that the bus has acknowledged and its stream lacks,
 * from the ledgers of all services or of `--profile`. Runs beside a service, or while it is down. `--as-is` uses this
 * process's environment, as inside a container. Exit code 1 when a service could not be refilled.
 */
export const refillCommand = command(natsRefillUsage, async ({ values, env, show }) => {
  const names = values.profile ? [values.profile] : plannedFleet(values).members.map(({ name }) => name);
  const reports: (Refilled | Problem)[] = [];
  // One after the other: the events of each service come in order, and NATS is not flooded.
  for (const name of names) {
    const entryPoint = findEntryPoint(values, name, env);
    reports.push(await refillService(name, entryPoint, values['dry-run'] ? ['--dry-run'] : []));
  }
  show({ services: reports }, ({ services }) => renderReports(services, values['dry-run'] === true));
  return reports.some((each) => 'problem' in each) ? 1 : 0;
});

type Refilled = Answer<typeof RefillReport>;

/** Why a service could not be refilled. */
interface Problem {
  readonly profile: string;
  readonly problem: string;
}

async function refillService(
  profile: string,
  entryPoint: EntryPoint,
  options: readonly string[],
): Promise<Refilled | Problem> {
  const { code, stdout, stderr } = await runEntryPoint(entryPoint, ['--refill', ...options], REFILL_MS);
  if (code === 0) return RefillReport.parse(JSON.parse(stdout));
  return { profile, problem: stderr.trim() || `no report within ${REFILL_MS / 60_000} minutes` };
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
