import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setUpStreams } from '@hermes-fleet/events';
import { version } from '@hermes-fleet/installation';
import type { Log } from '@hermes-fleet/protocol/ports';
import { CONSOLE, keyPaths, SETUP } from '../keys/layout.ts';
import { connectionFromKeys } from '../keys/nats-user.ts';
import { readSecret } from '../keys/secret-file.ts';
import { checkVersion, recordVersion, versionFile } from '../upgrade/state-version.ts';
import { memberCommands, natsCommand } from './commands.ts';
import { stopFormerMembers } from './down.ts';
import { changeSince } from './fingerprint.ts';
import { NO_MEMBER } from './former-members.ts';
import { findNatsServer, reloadNats } from './nats-server.ts';
import { runningProcess } from './pid-file.ts';
import type { FleetPlan, PlannedMember } from './plan.ts';
import { recordFleet } from './port-offset.ts';
import { makeProcessKeys } from './process-keys.ts';
import { type Changed, ensureCurrent, left, restartChanged } from './restart.ts';
import { ensureRunning, type Outcome, type StartOptions } from './start.ts';
import { startProcess } from './start-process.ts';

export interface UpOptions extends StartOptions<FleetPlan> {
  /** Inherited by every process; variables that the fleet sets take precedence. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** Replaces the entry point of every service. */
  readonly entryPoint?: string;
  /** False: start no console. */
  readonly withConsole?: boolean;
  /** False: start no trader. */
  readonly withTrader?: boolean;
  /** False: running services that have changed run on. */
  readonly withRestarts?: boolean;
  /** Recorded, so that `ps` misses a supervisor that does not run. */
  readonly isSupervised?: boolean;
}

/**
 * Starts the fleet as plain processes: stops services that are no members any more, then keys, NATS and its streams, then the trader, the profiles and the console in
 * parallel. Restarts a NATS server whose program or folder has changed, and then, one at a time, running services whose program, configuration, environment or keys have changed
 * since their start; leaves the others alone. Waits until every process is ready and reports those that fail; retries nothing. Throws
 * CONFIG_INVALID when there is no nats-server, when the fleet in this folder runs on other ports, and, before it changes
 * anything, for a fleet of a newer version.
 */
export async function fleetUp(options: UpOptions): Promise<readonly Outcome[]> {
  const { plan } = options;
  checkVersion(versionFile(plan.keysDir), version());
  const server = findNatsServer(options.env);
  prepareFolders(plan);
  recordFleet(plan, options.isSupervised);
  recordVersion(versionFile(plan.keysDir), version());
  const { natsConfig } = keyPaths(plan.keysDir);
  const before = readSecret(natsConfig);
  makeProcessKeys(plan, server.syncAlways);

  const former = (await stopFormerMembers(plan, options.clock)).map(({ name }): Outcome => {
    return { name, url: '', state: 'stopped', reason: NO_MEMBER };
  });
  const nats = await ensureCurrent(options, plan.nats, natsCommand(plan, server.command, options.env));
  if (nats.state === 'failed') return [...former, nats];
  if (nats.state === 'already running' && readSecret(natsConfig) !== before)
    await reloadNats(plan, options.clock);
  await setUpStreams({
    connection: connectionFromKeys(SETUP, plan.keysDir, plan.nats.url),
    log: options.log,
  });
  const members = [
    ...(options.withTrader === false || !plan.trader ? [] : [plan.trader]),
    ...plan.profiles,
    ...(options.withConsole === false ? [] : [plan.console]),
  ];
  const outcomes = await startMembers(options, members);
  return [
    ...former,
    nats,
    ...members.flatMap(({ name }) => outcomes.find((each) => each.name === name) ?? []),
  ];
}

/** Starts those that are down in parallel, then restarts those that have changed. */
async function startMembers(
  options: UpOptions,
  members: readonly PlannedMember[],
): Promise<readonly Outcome[]> {
  const { runDir } = options.plan;
  const commandFor = memberCommands(options);
  const changed: Changed[] = [];
  const others: Promise<Outcome>[] = [];
  for (const member of members) {
    const command = commandFor(member);
    const running = runningProcess(runDir, member.name);
    const change = running && command.fingerprint && changeSince(running.fingerprint, command.fingerprint);
    if (change === undefined)
      others.push(ensureRunning(options, member, () => startProcess(runDir, member, command)));
    else changed.push({ member, command, change });
  }
  const outcomes = await Promise.all(others);
  const failed = outcomes.find(({ name, state }) => state === 'failed' && name !== CONSOLE);
  if (failed === undefined && options.withRestarts !== false)
    return [...outcomes, ...(await restartChanged(options, changed))];
  const why = failed ? `was not restarted, because ${failed.name} failed` : 'runs on';
  return [...outcomes, ...changed.map((each) => left(each, why))];
}

/**
 * Creates the fleet's folders. Agent commands, which may run as another user, can traverse to their workspace; folders
 * with secrets are 0700.
 */
function prepareFolders(plan: FleetPlan): void {
  for (const [path, mode] of [
    [plan.dir, 0o711],
    [join(plan.dir, 'state'), 0o700],
    [join(plan.dir, 'logs'), 0o700],
    [plan.runDir, 0o700],
    [plan.cacheDir, 0o700],
    [plan.natsStoreDir, 0o700],
    [join(plan.dir, 'workspaces'), 0o711],
  ] as const) {
    makeFolder(path, mode);
  }
  for (const { stateDir } of [...plan.members, plan.console]) makeFolder(stateDir, 0o700);
  for (const profile of plan.profiles) {
    const asRoot = process.getuid?.() === 0;
    makeFolder(profile.workspaceDir, asRoot ? 0o755 : 0o700);
  }
}

function makeFolder(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  chmodSync(path, mode);
}
