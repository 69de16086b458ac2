import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { ASSETS, program, version } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock, type Log } from '@hermes-fleet/protocol/ports';
import { command, type Invocation } from '../command-line/command.ts';
import { quote } from '../command-line/option-values.ts';
import { columns, printLines } from '../command-line/output.ts';
import { ownCommand } from '../command-line/own-command.ts';
import { untilStopped } from '../command-line/until-stopped.ts';
import { downUsage, upUsage } from '../command-specs/processes.ts';
import { consoleOf, newLink } from '../console/client.ts';
import { linkOfContainer } from '../containers/console-link.ts';
import { hostRequests } from '../containers/host-requests.ts';
import { askInside } from '../containers/inside.ts';
import { forcedMode, forgetContainers, keptMode, refuseSecondFleet } from '../containers/mode.ts';
import { containerStatus } from '../containers/status.ts';
import { startContainers, stopContainers } from '../containers/up.ts';
import { currentFolder, type FleetFolder } from '../folder/fleet-folder.ts';
import { CONSOLE, ORCHESTRATOR } from '../keys/layout.ts';
import { fleetDown } from '../local/down.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { type FleetPlan, planFleet } from '../local/plan.ts';
import { freeOffset, recordedOffset } from '../local/port-offset.ts';
import { planPrometheus, prometheusDown, prometheusUp } from '../local/prometheus.ts';
import { fleetUp } from '../local/up.ts';
import { renderWelcome } from '../quick-start/first-flight.ts';
import { fleetInContainers, plannedFleet } from '../running/running-fleet.ts';
import { startSupervisor, stopSupervisor } from '../supervise/start-supervisor.ts';
import { changedConfiguration } from '../upgrade/changed-configuration.ts';
import { checkVersion, versionFile } from '../upgrade/state-version.ts';
import { settle } from './first-flight.ts';

type UpIn = Pick<Invocation<typeof upUsage.options>, 'values' | 'env' | 'stdout' | 'stderr' | 'print'>;

/**
 * `fleet up`: starts the fleet in the folder, in containers or as plain processes (docs/operations.md#two-modes). With `--dir` or
 * `--port-offset`, as processes. Exit code 1 where a service other than the console does not start.
 */
const upCommand = command(upUsage, async (invocation) => {
  const { values, env } = invocation;
  const containers = await fleetInContainers(values, env);
  if (containers) return await upContainers(containers, invocation);
  if (values.dir === undefined) await prepareProcesses(invocation);
  const given = values['port-offset'] ?? (env.FLEET_PORT_OFFSET || undefined);
  const offset = given ?? (values.dir === undefined ? await offsetOfNew(invocation) : undefined);
  const plan = plannedFleet({ ...values, ...(offset !== undefined && { 'port-offset': offset }) });
  using _lock = lockFolder(plan.dir, 'fleet up');
  return await upProcesses(plan, invocation);
});

/** `fleet down`: stops the fleet of the folder; what it has written stays. */
const downCommand = command(downUsage, async ({ values, env, stderr, show }) => {
  const containers = await fleetInContainers(values, env);
  if (containers) {
    using _lock = lockFolder(containers.dir, 'fleet down');
    const code = await stopContainers({ folder: containers, env, stderr });
    if (code === 0) forgetContainers(containers);
    return code;
  }
  show(await downProcesses(plannedFleet(values)), (rows) =>
    columns(
      ['name', 'state'],
      rows.map(({ name, state }) => [name, state]),
    ),
  );
  return 0;
});

export const commands = [upCommand, downCommand];

async function downProcesses(plan: FleetPlan) {
  using _lock = lockFolder(plan.dir, 'fleet down');
  await stopSupervisor(plan, clock);
  const seen = await prometheusDown(plan, clock);
  return [...(await fleetDown({ plan, clock })), ...(seen ? [seen] : [])];
}

async function upContainers(folder: FleetFolder, invocation: UpIn): Promise<number> {
  const { values, env, stdout, stderr, print } = invocation;
  if (values['no-supervisor'])
    stderr.write('note: --no-supervisor has no effect in containers, which Docker restarts\n');
  const withRestarts = values['no-restart'] !== true;
  // A document is all that stdout has.
  const start = { folder, env, stdout: print ? stderr : stdout, stderr, withRestarts };
  const isUp = await untilStopped(
    async (signal) => {
      using _lock = lockFolder(folder.dir, 'fleet up');
      return await startContainers({ ...start, signal });
    },
    () => printLines(stderr, ['fleet: stopped: the containers that run already run on']),
  );
  if (!isUp) return 1;
  noteChanges(folder.home, stderr);
  const rows = await containerStatus(folder, env);
  if (print) {
    print(rows.map(({ name, state, url }) => ({ name, url, state })));
    return 0;
  }
  const addresses = rows.filter(({ state, url }) => state === 'ready' && url !== '');
  const orchestrator = addresses.find(({ name }) => name === ORCHESTRATOR);
  if (orchestrator) await settleContainers(folder, env, orchestrator.url, stderr);
  const hasConsole = addresses.some(({ name }) => name === CONSOLE);
  const consoleLink = hasConsole ? await linkTo(() => linkOfContainer(folder, env), stderr) : undefined;
  stdout.write(renderWelcome({ addresses, consoleLink, ...firstRequest(folder.root) }));
  return 0;
}

/** Without Node.js here, this process began before there was a network of the fleet: switch waits in its container. */
async function settleContainers(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  url: string,
  stderr: Writable,
): Promise<void> {
  if (!hostRequests(env)) return await settle(url, stderr);
  const planned = planFleet({ root: folder.root }).members.find(({ name }) => name === ORCHESTRATOR);
  const words = ['first-flight', '--settle', `http://127.0.0.1:${planned?.port}`];
  stderr.write((await askInside(folder, env, ORCHESTRATOR, words)).stderr);
}

/** For the fleet of the folder: says its mode, and installs what a checkout needs of the system. */
async function prepareProcesses({ env, stdout, print }: UpIn): Promise<void> {
  const folder = currentFolder();
  await refuseSecondFleet(folder, env, 'process');
  const isChosen = forcedMode(env) !== undefined || keptMode(folder) !== undefined;
  const why = isChosen ? '' : 'no Docker engine answers: ';
  if (!print) stdout.write(`${why}starting the fleet as plain processes on this machine\n`);
  const script = join(folder.home, 'system-packages.sh');
  if (existsSync(script) && spawnSync(script, { env, stdio: ['ignore', 2, 2] }).status !== 0)
    throw new FleetError('CONFIG_INVALID', `${script} failed, for the reason above`);
  forgetContainers(folder);
}

/** The port offset of a fleet folder that starts for the first time. The commands of a checkout name ports, so that has the usual ones. */
async function offsetOfNew({ stderr }: UpIn): Promise<string | undefined> {
  const { root, home, dir } = currentFolder();
  if (root !== home || recordedOffset(dir) !== undefined) return undefined;
  const offset = await freeOffset(root, clock);
  if (offset > 0)
    stderr.write(
      `the usual ports are in use: this fleet adds ${offset} to each, as ${join(dir, 'fleet.json')} records\n`,
    );
  return String(offset);
}

async function upProcesses(plan: FleetPlan, { values, env, stdout, stderr, print }: UpIn): Promise<number> {
  const say = (line: string): boolean => stdout.write(`${line}\n`);
  const warn = (line: string): boolean => stderr.write(`${line}\n`);
  const note = (_: object, message: string): boolean => warn(`note: ${message}`);
  const log: Log = { info() {}, debug() {}, warn: note, error: note };
  checkVersion(versionFile(plan.keysDir), version());
  const isSupervised = values['no-supervisor'] !== true && env.FLEET_SUPERVISOR !== 'off';
  // The supervisor of a running fleet starts nothing meanwhile, because the folder is locked, and goes on if this fails.
  const withRestarts = values['no-restart'] !== true;
  const outcomes = await fleetUp({ plan, env, clock, log, withRestarts, isSupervised });
  const all = outcomes.filter(({ state }) => state === 'failed');
  const failed = all.filter(({ name }) => name !== CONSOLE);
  const seen = failed.length === 0 ? await prometheusUp({ plan, env, clock, withRestarts }) : undefined;
  await stopSupervisor(plan, clock);
  const unsupervised = isSupervised ? await startSupervisor({ plan, env, clock }) : undefined;
  if (unsupervised) warn(`\nno process is restarted that dies: the supervisor ${unsupervised}`);
  const orchestrator = outcomes.find(({ name, state }) => name === ORCHESTRATOR && state !== 'failed');
  if (orchestrator) await settle(orchestrator.url, stderr);
  if (print) {
    print([...outcomes, ...(seen ? [seen] : [])]);
    return failed.length > 0 ? 1 : 0;
  }
  for (const { name, state, reason } of outcomes)
    say(`${name.padEnd(8)}  ${state}${reason && state !== 'failed' ? `: ${reason}` : ''}`);
  for (const { name, reason } of all) warn(`\n${name} ${reason}`);
  if (failed.length > 0) {
    const names = failed.map(({ name }) => name).join(', ');
    warn(`\n${names} failed; the other processes keep running: ${ownCommand('down')} stops them`);
    return 1;
  }
  const addresses = [...plan.members, plan.console, plan.nats].filter(
    ({ name }) => !all.some((each) => each.name === name),
  );
  noteChanges(plan.home, stderr);
  if (all.length > 0) warn('\nthe fleet runs without the console, for the reason above');
  if (seen) say(`${seen.name.padEnd(8)}  ${seen.state}`);
  const isSeen = seen !== undefined && seen.state !== 'failed';
  if (seen && !isSeen) warn(`\nthe fleet runs without Prometheus, which ${seen.reason}`);
  const own = [process.execPath, program('fleet'), 'token', '--dir', plan.keysDir].map(quote).join(' ');
  const { request, tokenCommand } = firstRequest(plan.root);
  stdout.write(
    renderWelcome({
      addresses: [...addresses, ...(isSeen ? [planPrometheus(plan)] : [])],
      request,
      consoleLink: all.length === 0 ? await linkTo(() => newLink(consoleOf(plan)), stderr) : undefined,
      tokenCommand: join(plan.root, '.fleet') === plan.dir ? tokenCommand : own,
    }),
  );
  return 0;
}

/** Names what a configuration of an older version should change. */
function noteChanges(home: string, stderr: Writable): void {
  for (const { file, line, text } of changedConfiguration(home))
    stderr.write(`note: ${[file, line].filter((part) => part !== undefined).join(':')}: ${text}\n`);
}

/** A link to the console for the last lines; without one, says why. */
async function linkTo(
  ask: () => Promise<{ readonly url: string }>,
  stderr: Writable,
): Promise<string | undefined> {
  try {
    return (await ask()).url;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    stderr.write(`\nthere is no link to the console: ${error.message}\n`);
    return undefined;
  }
}

/** The file of the first request, and a shell command that prints the token for it, for the fleet of a folder. */
const firstRequest = (root: string) =>
  existsSync(join(root, ASSETS['first-flight.json']))
    ? { request: join(root, ASSETS['first-flight.json']), tokenCommand: `make -s -C ${quote(root)} token` }
    : { request: join(root, 'first-flight.json'), tokenCommand: `FLEET_FOLDER=${quote(root)} fleet token` };
