import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { textAt } from '../client/fields.ts';
import { command } from '../command-line/command.ts';
import { noArguments } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
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
export const refillCommand = command(natsRefillUsage, async ({ values, positionals, env, stdout, print }) => {
  noArguments('nats refill', positionals);
  const names = values.profile ? [values.profile] : plannedFleet(values).members.map(({ name }) => name);
  const reports: JsonObject[] = [];
  // One after the other: the events of each service come in order, and NATS is not flooded.
  for (const name of names) {
    const entryPoint = findEntryPoint(values, name, env);
    reports.push(await refillService(name, entryPoint, values['dry-run'] ? ['--dry-run'] : []));
  }
  if (print) print({ services: reports });
  else printLines(stdout, renderReports(reports, values['dry-run'] === true));
  return reports.some(({ problem }) => problem !== undefined) ? 1 : 0;
});

async function refillService(
  name: string,
  entryPoint: EntryPoint,
  options: readonly string[],
): Promise<JsonObject> {
  const { code, stdout, stderr } = await runEntryPoint(entryPoint, ['--refill', ...options], REFILL_MS);
  const problem = (text: string): JsonObject => ({ profile: name, problem: text });
  if (code !== 0) return problem(stderr.trim() || `no report within ${REFILL_MS / 60_000} minutes`);
  const report: unknown = JSON.parse(stdout);
  if (isJsonObject(report)) return report;
  throw new FleetError('INTERNAL', `the refill of ${name} ended without a report`);
}

function renderReports(reports: readonly JsonObject[], isDryRun: boolean): string[] {
  const done = reports.filter(({ problem }) => problem === undefined);
  const table = columns(
    ['service', 'acknowledged', 'missing', 'published'],
    done.map((each) => [
      textAt(each, 'profile'),
      ...['acknowledged', 'missing', 'published'].map((field) => String(each[field])),
    ]),
  );
  const removed = done.filter((each) => Number(each.removed_tasks) > 0);
  return [
    ...(done.length > 0 ? table : []),
    ...removed.map(
      (each) =>
        `${textAt(each, 'profile')}: its ledger no longer has ${each.removed_tasks} ended tasks, whose events cannot be published again`,
    ),
    ...reports
      .filter(({ problem }) => problem !== undefined)
      .map((each) => `${textAt(each, 'profile')}: ${textAt(each, 'problem')}`),
    ...(isDryRun && done.some(({ missing }) => Number(missing) > 0)
      ? ['fleet nats refill publishes what is missing']
      : []),
  ];
}
