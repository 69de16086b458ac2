import { systemCode } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { formerMembers } from './former-members.ts';
import { GRACE_MS } from './grace.ts';
import { forgetProcess, isAlive, type RunningProcess, runningProcess } from './pid-file.ts';
import type { FleetPlan } from './plan.ts';

export interface Stopped {
  readonly name: string;
  readonly state: 'stopped' | 'killed' | 'was not running';
}

const KILL_MS = 5_000;
const INTERVAL_MS = 50;

/**
 * Stops the fleet: the profiles and former members in parallel, then the trader, which they may still call, then the console, which reads
 * the last events, then NATS, which receives them. Each process gets SIGTERM and `graceMs`; after that its process group gets SIGKILL. Touches only
 * processes that `up` started.
 */
export async function fleetDown({
  plan,
  clock,
  graceMs = GRACE_MS,
}: {
  readonly plan: FleetPlan;
  readonly clock: Clock;
  readonly graceMs?: number;
}): Promise<readonly Stopped[]> {
  const stop = (name: string): Promise<Stopped> => stopProcess(plan.runDir, name, graceMs, clock);
  const [former, profiles] = await Promise.all([
    stopFormerMembers(plan, clock, graceMs),
    Promise.all([...plan.profiles].reverse().map(({ name }) => stop(name))),
  ]);
  return [
    ...former,
    ...profiles,
    ...(plan.trader ? [await stop(plan.trader.name)] : []),
    await stop(plan.console.name),
    await stop(plan.nats.name),
  ];
}

/** Stops those that run, and forgets the others. */
export async function stopFormerMembers(
  plan: FleetPlan,
  clock: Clock,
  graceMs = GRACE_MS,
): Promise<readonly Stopped[]> {
  const names = formerMembers(plan);
  const stopped = await Promise.all(names.map((name) => stopProcess(plan.runDir, name, graceMs, clock)));
  return stopped.filter(({ state }) => state !== 'was not running');
}

/** Stops one process that `up` started: SIGTERM, and after `graceMs` SIGKILL to its process group. */
export async function stopProcess(
  runDir: string,
  name: string,
  graceMs: number,
  clock: Clock,
): Promise<Stopped> {
  const running = runningProcess(runDir, name);
  if (running === undefined) {
    forgetProcess(runDir, name);
    return { name, state: 'was not running' };
  }
  signal(running.pid, 'SIGTERM');
  let state: Stopped['state'] = 'stopped';
  if (!(await hasEnded(running, graceMs, clock))) {
    // `up` starts every process as the leader of its own process group.
    signal(-running.pid, 'SIGKILL');
    await hasEnded(running, KILL_MS, clock);
    state = 'killed';
  }
  forgetProcess(runDir, name);
  return { name, state };
}

async function hasEnded(running: RunningProcess, timeoutMs: number, clock: Clock): Promise<boolean> {
  const giveUpAt = clock.now() + timeoutMs;
  while (isAlive(running)) {
    if (clock.now() >= giveUpAt) return false;
    await clock.sleep(INTERVAL_MS);
  }
  return true;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // The process may end before the signal arrives.
    if (systemCode(error) !== 'ESRCH') throw error;
  }
}
