import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setUpStreams } from '@hermes-fleet/events';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { initKeys } from '../keys/init.ts';
import { keyPaths, SETUP } from '../keys/layout.ts';
import { connectionFromKeys } from '../keys/nats-user.ts';
import { readSecret } from '../keys/secret-file.ts';
import { findNatsServer, reloadNats } from './nats-server.ts';
import { commandOf, type FleetPlan, type PlannedMember, serviceEnv } from './plan.ts';
import { recordOffset } from './port-offset.ts';
import { ensureRunning, type Outcome } from './start.ts';
import { type Started, startProcess } from './start-process.ts';

export interface UpOptions {
  readonly plan: FleetPlan;
  /** Inherited by every process; variables that the fleet sets take precedence. */
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Log;
  /** Time limit for a process to become ready. */
  readonly readyMs?: number;
  /** Replaces the entry point of every service. */
  readonly entryPoint?: string;
  /** False: start no console. */
  readonly withConsole?: boolean;
  /** False: start no trader. */
  readonly withTrader?: boolean;
}

/**
 * Starts the fleet as plain processes: keys, NATS and its streams, then the trader, the profiles and the console in
 * parallel. Leaves running processes alone. Waits until every process is ready and reports those that fail; retries nothing. Throws
 * CONFIG_INVALID when there is no nats-server, or when the fleet in this folder runs on other ports.
 */
export async function fleetUp(options: UpOptions): Promise<readonly Outcome[]> {
  const { plan } = options;
  const server = findNatsServer(options.env);
  prepareFolders(plan);
  recordOffset(plan);
  const { natsConfig } = keyPaths(plan.keysDir);
  const before = readSecret(natsConfig);
  initKeys({
    dir: plan.keysDir,
    services: plan.members.map(({ name }) => name),
    nats: {
      storeDir: plan.natsStoreDir,
      host: '127.0.0.1',
      port: plan.nats.port,
      syncAlways: server.syncAlways,
    },
  });

  const nats = await ensureRunning(options, plan.nats, () =>
    startProcess(plan.runDir, plan.nats, {
      file: server.command,
      args: ['--config', natsConfig],
      env: options.env,
      cwd: plan.dir,
    }),
  );
  if (nats.state === 'failed') return [nats];
  if (nats.state === 'already running' && readSecret(natsConfig) !== before)
    await reloadNats(plan, options.clock);
  await setUpStreams({
    connection: connectionFromKeys(SETUP, plan.keysDir, plan.nats.url),
    log: options.log,
  });
  const members = [
    ...(options.withTrader === false ? [] : [plan.trader]),
    ...plan.profiles,
    ...(options.withConsole === false ? [] : [plan.console]),
  ];
  const ensure = (member: PlannedMember): Promise<Outcome> =>
    ensureRunning(options, member, () => startMember(options, member));
  return [nats, ...(await Promise.all(members.map(ensure)))];
}

function startMember(options: UpOptions, member: PlannedMember): Started {
  const { plan, entryPoint } = options;
  return startProcess(plan.runDir, member, {
    file: process.execPath,
    args: entryPoint === undefined ? commandOf(member.name) : [entryPoint],
    env: serviceEnv(plan, member, options.env),
    cwd: plan.home,
  });
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
