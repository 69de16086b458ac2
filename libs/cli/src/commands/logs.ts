import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { FleetError } from '@hermes-fleet/protocol';
import { command } from '../command-line/command.ts';
import { UsageError, wholeNumber } from '../command-line/option-values.ts';
import { printLines, safeJson, sanitize } from '../command-line/output.ts';
import { ownCommand } from '../command-line/own-command.ts';
import { logsUsage } from '../command-specs/fleet.ts';
import { compose } from '../containers/docker.ts';
import { lastLine } from '../containers/inside.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import type { FleetPlan } from '../local/plan.ts';
import { SUPERVISOR } from '../local/plan.ts';
import { planPrometheus } from '../local/prometheus.ts';
import { keptLines, type LogLines, linesOfFiles } from '../logs/log-lines.ts';
import { describeLine, linesOfTask } from '../logs/task-logs.ts';
import { fleetInContainers, plannedFleet } from '../running/running-fleet.ts';
import { logOf } from '../supervise/start-supervisor.ts';

const READ_MS = 10 * 60_000;

/**
 * `fleet logs <task>`: prints what all services logged about a task, in the order of time (docs/cli.md#logs). With names of
 * services, and without any word, it prints their logs. Throws TASK_NOT_FOUND where no line names the task, and NOT_FOUND where
 * there are no logs.
 */
const logsCommand = command(
  logsUsage,
  async ({ values, positionals, env, output, stdout, stderr, print }) => {
    const containers = await fleetInContainers(values, env);
    const plan = plannedFleet(values);
    const services = logged(plan).map(({ name }) => name);
    const follow = values.follow === true || (positionals.length === 0 && values.tail === undefined);
    const lines = wholeNumber('tail', values.tail, 100, [0, Infinity]);
    if (positionals.every((word) => services.includes(word))) {
      if (print) throw new UsageError('the logs of services are text: leave out --json and -o');
      const shown = { names: positionals, follow, lines };
      return containers ? await containerLogs(containers, env, shown) : processLogs(plan, shown);
    }
    const [id = '', ...more] = positionals;
    if (id === '' || more.length > 0 || values.follow !== undefined || values.tail !== undefined)
      throw new UsageError(
        'logs takes the id or the task_id of one task, or names of services; --follow and --tail are for services',
      );
    const names = plan.members.map(({ name }) => name);
    const source = containers
      ? await linesOfContainers(containers, env, names)
      : filesOf(plan.members.map(({ logFile }) => logFile));
    const { lines: found, leftOut } = await linesOfTask(source, id);
    if (found.length === 0)
      throw new FleetError(
        'TASK_NOT_FOUND',
        `no log line names the task "${sanitize(id)}": its lines are rotated away, or LOG_LEVEL leaves them out`,
      );
    if (leftOut > 0) printLines(stderr, [`note: ${leftOut} more lines of the task are left out`]);
    if (output === 'json') for (const { text } of found) stdout.write(`${safeJson(text)}\n`);
    else if (print) for (const { record } of found) print(record);
    else printLines(stdout, found.map(describeLine));
    return 0;
  },
);

export const commands = [logsCommand];

/** The processes of a fleet that have a log. In containers, there is no supervisor. */
const logged = (plan: FleetPlan) => [
  ...plan.processes,
  planPrometheus(plan),
  { name: SUPERVISOR, logFile: logOf(plan) },
];

interface Shown {
  /** All services without one. */
  readonly names: readonly string[];
  readonly follow: boolean;
  /** The last ones of each service. */
  readonly lines: number;
}

async function containerLogs(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  { names, follow, lines }: Shown,
): Promise<number> {
  const args = ['logs', ...(follow ? ['--follow'] : []), '--tail', String(lines), ...names];
  const all = { ...env, COMPOSE_PROFILES: 'grafana' };
  return (await compose(folder, args, { output: 'inherit', env: all })).code;
}

/** Prints logs with `tail`, which follows files through growth and rotation. */
function processLogs(plan: FleetPlan, { names, follow, lines }: Shown): number {
  const files = logged(plan)
    .filter(({ name, logFile }) => (names.length === 0 || names.includes(name)) && existsSync(logFile))
    .map(({ logFile }) => logFile);
  if (files.length === 0) throw noLogs();
  const tail = spawnSync('tail', ['-n', String(lines), ...(follow ? ['-F'] : []), ...files], {
    stdio: 'inherit',
  });
  return tail.status ?? (tail.signal === 'SIGINT' ? 0 : 1);
}

const noLogs = () =>
  new FleetError('NOT_FOUND', `there are no logs yet: ${ownCommand('up')} starts the fleet`);

/** Each file after the older one that a start made of it. */
function filesOf(logFiles: readonly string[]): LogLines {
  const files = logFiles.flatMap((file) => [`${file}.1`, file]).filter((file) => existsSync(file));
  if (files.length === 0) throw noLogs();
  return linesOfFiles(files);
}

/** The logs of containers that have tasks, also of those that have ended. */
async function linesOfContainers(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  names: readonly string[],
): Promise<LogLines> {
  const output = new PassThrough();
  const args = ['logs', '--no-color', '--no-log-prefix', ...names];
  const [lines, { code, stderr }] = await Promise.all([
    keptLines(output),
    compose(folder, args, { output, env, timeoutMs: READ_MS }),
  ]);
  if (code === 0) return lines;
  throw new FleetError('NOT_FOUND', `the logs of the containers cannot be read: ${lastLine(stderr)}`);
}
