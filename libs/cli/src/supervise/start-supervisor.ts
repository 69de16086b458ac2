import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { program } from '@hermes-fleet/installation';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { memberCommands, natsCommand } from '../local/commands.ts';
import { type Stopped, stopProcess } from '../local/down.ts';
import { findNatsServer } from '../local/nats-server.ts';
import { runningProcess } from '../local/pid-file.ts';
import { type FleetPlan, SUPERVISOR } from '../local/plan.ts';
import { planPrometheus, prometheusCommand } from '../local/prometheus.ts';
import { startProcess } from '../local/start-process.ts';
import { readRestarts, restartsFile } from './restarts.ts';
import type { Supervised } from './supervise.ts';

const STARTS_MS = 30_000;
const GRACE_MS = 10_000;
const INTERVAL_MS = 50;
/** It holds little, and is collected often. */
const NODE_OPTIONS = '--max-semi-space-size=1 --max-old-space-size=64';

export const logOf = (plan: FleetPlan): string => join(plan.dir, 'logs', `${SUPERVISOR}.log`);

interface StartOptions {
  readonly plan: FleetPlan;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Replaces the entry point of every service. */
  readonly entryPoint?: string | undefined;
}

/** Every process of the fleet, as `up` starts it. */
function supervisedProcesses(options: StartOptions): readonly Supervised[] {
  const { plan, env } = options;
  const commandFor = memberCommands(options);
  const nats = { ...plan.nats, command: natsCommand(plan, findNatsServer(env).command, env) };
  const services = [...plan.members, plan.console].map((member) => ({
    ...member,
    command: commandFor(member),
  }));
  const prometheus = { ...planPrometheus(plan), command: prometheusCommand(plan, env) };
  return [nats, ...services, prometheus].map(({ name, logFile, command }) => ({ name, logFile, command }));
}

/**
 * Starts the supervisor of the fleet's processes that run now, and waits until it is at work; undefined, or why it is not. The
 * caller holds the lock of the folder and has stopped the one before. The environment of the processes is in its memory only.
 */
export async function startSupervisor(options: StartOptions): Promise<string | undefined> {
  const { plan, env, clock } = options;
  const { dir, runDir } = plan;
  const processes = supervisedProcesses(options).filter(({ name }) => runningProcess(runDir, name));
  const started = startProcess(
    runDir,
    { name: SUPERVISOR, logFile: logOf(plan) },
    {
      file: process.execPath,
      args: [program('supervisor')],
      env: { PATH: env.PATH, NODE_OPTIONS, NODE_COMPILE_CACHE: plan.cacheDir },
      cwd: dir,
      input: JSON.stringify({ dir, runDir, processes }),
    },
  );
  const giveUpAt = clock.now() + STARTS_MS;
  while (!started.ended.aborted && readRestarts(runDir) === undefined) {
    if (clock.now() >= giveUpAt) return `is not at work after ${STARTS_MS / 1000} s: see ${logOf(plan)}`;
    await clock.sleep(INTERVAL_MS);
  }
  started.release();
  return started.ended.aborted ? `${started.ended.reason}: see ${logOf(plan)}` : undefined;
}

/** Ends the supervisor, and forgets its restarts, so that no process starts again that a command is about to stop. */
export async function stopSupervisor({ runDir }: FleetPlan, clock: Clock): Promise<Stopped> {
  const stopped = await stopProcess(runDir, SUPERVISOR, GRACE_MS, clock);
  rmSync(restartsFile(runDir), { force: true });
  return stopped;
}
