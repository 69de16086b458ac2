import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { program, version } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock, type Log } from '@hermes-fleet/protocol/ports';
import { command, type Invocation, type OptionSpecs, type Values } from '../command-line/command.ts';
import { quote, UsageError, wholeNumber } from '../command-line/option-values.ts';
import { type Cell, columns } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { localDownUsage, localLogsUsage, localPsUsage, localUpUsage } from '../command-specs/processes.ts';
import { consoleOf, newLink } from '../console/client.ts';
import { CONSOLE } from '../keys/layout.ts';
import { fleetDown } from '../local/down.ts';
import { lockFolder } from '../local/folder-lock.ts';
import type { FleetPlan } from '../local/plan.ts';
import { planPrometheus, prometheusDown, prometheusUp } from '../local/prometheus.ts';
import { fleetUp } from '../local/up.ts';
import { renderWelcome } from '../quick-start/first-flight.ts';
import { startSupervisor, stopSupervisor } from '../supervise/start-supervisor.ts';
import { supervisedStatus } from '../supervise/status.ts';
import { changedConfiguration } from '../upgrade/changed-configuration.ts';
import { checkVersion, versionFile } from '../upgrade/state-version.ts';
import { settle } from './first-flight.ts';

/** `fleet local up|down|ps|logs`: runs the fleet as plain processes on this machine. */
export const commands = [
  command(localUpUsage, async (invocation) => {
    const plan = plannedFleet(invocation.values);
    using _lock = lockFolder(plan.dir, 'fleet up');
    return await up(plan, invocation, invocation.values);
  }),
  listed(localDownUsage, async (plan) => {
    using _lock = lockFolder(plan.dir, 'fleet down');
    await stopSupervisor(plan, clock);
    const seen = await prometheusDown(plan, clock);
    return [...(await fleetDown({ plan, clock })), ...(seen ? [seen] : [])];
  }),
  listed(localPsUsage, async (plan) => {
    return (await supervisedStatus(plan)).map(({ name, state, pid = null, url, detail = null, logFile }) => ({
      name,
      state,
      pid,
      url,
      detail,
      log_file: logFile,
    }));
  }),
  command(localLogsUsage, ({ values, positionals, stderr }) => {
    const lines = wholeNumber('tail', values.tail, 100);
    return logs(plannedFleet(values), positionals, { follow: values.follow === true, lines, stderr });
  }),
];

function listed(usage: typeof localPsUsage, rows: (plan: FleetPlan) => Promise<readonly object[]>) {
  return command(usage, async ({ values, show }) => {
    show(await rows(plannedFleet(values)), (found) =>
      columns(
        Object.keys(found[0] ?? {}),
        found.map((row): Cell[] => Object.values(row)),
      ),
    );
    return 0;
  });
}

type UpIn = Pick<Invocation<OptionSpecs>, 'env' | 'stdout' | 'stderr' | 'print'>;

async function up(
  plan: FleetPlan,
  { env, stdout, stderr, print }: UpIn,
  values: Values<typeof localUpUsage.options>,
): Promise<number> {
  const say = (line: string): boolean => stdout.write(`${line}\n`);
  const warn = (line: string): boolean => stderr.write(`${line}\n`);
  const note = (_: object, message: string): boolean => warn(`note: ${message}`);
  const log: Log = { info() {}, debug() {}, warn: note, error: note };
  checkVersion(versionFile(plan.keysDir), version());
  await stopSupervisor(plan, clock);
  const outcomes = await fleetUp({ plan, env, clock, log, withRestarts: values['no-restart'] !== true });
  const orchestrator = outcomes.find(({ name, state }) => name === 'switch' && state !== 'failed');
  if (orchestrator) await settle(orchestrator.url, stderr);
  const all = outcomes.filter(({ state }) => state === 'failed');
  const failed = all.filter(({ name }) => name !== CONSOLE);
  const seen = failed.length === 0 ? await prometheusUp({ plan, env, clock }) : undefined;
  const isSupervised = values['no-supervisor'] !== true && env.FLEET_SUPERVISOR !== 'off';
  const unsupervised = isSupervised ? await startSupervisor({ plan, env, clock }) : undefined;
  if (unsupervised) warn(`\nno process is restarted that dies: the supervisor ${unsupervised}`);
  if (print) {
    print([...outcomes, ...(seen ? [seen] : [])]);
    return failed.length > 0 ? 1 : 0;
  }
  for (const { name, state, reason } of outcomes)
    say(`${name.padEnd(8)}  ${state}${reason && state !== 'failed' ? `: ${reason}` : ''}`);
  for (const { name, reason } of all) warn(`\n${name} ${reason}`);
  if (failed.length > 0) {
    const names = failed.map(({ name }) => name).join(', ');
    warn(`\n${names} failed; the other processes keep running: make down stops them`);
    return 1;
  }
  const addresses = [...plan.members, plan.console, plan.nats].filter(
    ({ name }) => !all.some((each) => each.name === name),
  );
  for (const { file, line, text } of changedConfiguration(plan.home))
    warn(`note: ${[file, line].filter((part) => part !== undefined).join(':')}: ${text}`);
  if (all.length > 0) warn('\nthe fleet runs without the console, for the reason above');
  if (seen) say(`${seen.name.padEnd(8)}  ${seen.state}`);
  const isSeen = seen !== undefined && seen.state !== 'failed';
  if (seen && !isSeen) warn(`\nthe fleet runs without Prometheus, which ${seen.reason}`);
  const isDefaultDir = join(plan.root, '.fleet') === plan.dir;
  const tokenCommand = [process.execPath, program('fleet'), 'token', '--dir', plan.keysDir]
    .map(quote)
    .join(' ');
  stdout.write(
    renderWelcome({
      addresses: [...addresses, ...(isSeen ? [planPrometheus(plan)] : [])],
      root: plan.root,
      consoleLink: all.length === 0 ? await linkTo(plan, warn) : undefined,
      tokenCommand: isDefaultDir ? undefined : tokenCommand,
    }),
  );
  return 0;
}

/** A link to the console for the last lines; without one, says why. */
async function linkTo(plan: FleetPlan, warn: (line: string) => void): Promise<string | undefined> {
  try {
    return (await newLink(consoleOf(plan))).url;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    warn(`\nthere is no link to the console: ${error.message}`);
    return undefined;
  }
}

/** Prints logs with `tail`, which follows files through growth and rotation. */
function logs(
  plan: FleetPlan,
  names: readonly string[],
  { follow, lines, stderr }: { readonly follow: boolean; readonly lines: number; readonly stderr: Writable },
): number {
  const all = [...plan.processes, planPrometheus(plan)];
  const unknown = names.filter((name) => !all.some((one) => one.name === name));
  if (unknown.length > 0) throw new UsageError(`no such process: ${unknown.join(', ')}`);
  const files = all
    .filter(({ name, logFile }) => (names.length === 0 || names.includes(name)) && existsSync(logFile))
    .map(({ logFile }) => logFile);
  if (files.length === 0) {
    stderr.write('there are no logs yet\n');
    return 1;
  }
  const tail = spawnSync('tail', ['-n', String(lines), ...(follow ? ['-F'] : []), ...files], {
    stdio: 'inherit',
  });
  return tail.status ?? (tail.signal === 'SIGINT' ? 0 : 1);
}
